//===- LibraryFiles.h - The standard library as files -------------------------------*- C++ -*-===//
// Editors can only show files on disk, but the standard library is inside the binary.

#ifndef UPDRAFT_TOOLS_LSP_LIBRARYFILES_H
#define UPDRAFT_TOOLS_LSP_LIBRARYFILES_H

#include "updraft/Support/SourceFile.h"

#include <string>

namespace updraft {

/// Returns the path of a read-only copy in the user's cache folder, and writes it if it is missing.
/// Empty if it can't be written.
std::string copyOnDisk(const SourceFile &file);

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_LIBRARYFILES_H
