//===- LibraryFiles.h - The standard library as files -------------------------------*- C++ -*-===//
// An editor can show only what is on the disk; the standard library is in the binary.

#ifndef UPDRAFT_TOOLS_LSP_LIBRARYFILES_H
#define UPDRAFT_TOOLS_LSP_LIBRARYFILES_H

#include "updraft/Support/SourceFile.h"

#include <string>

namespace updraft {

/// The path of a read-only copy in the user's cache folder, written if it is not there. Empty if
/// it cannot be.
std::string copyOnDisk(const SourceFile &file);

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_LIBRARYFILES_H
