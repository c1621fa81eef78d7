//===- Format.h - Formats source text -----------------------------------------------*- C++ -*-===//
// Reformats a file. Words and comments keep their text and order.

#ifndef UPDRAFT_FRONTEND_FORMAT_H
#define UPDRAFT_FRONTEND_FORMAT_H

#include "updraft/Support/Diagnostics.h"

namespace updraft {

/// The maximum line length in columns.
constexpr unsigned maxLineWidth = 100;

/// Returns the text in the style of docs/tools.md. Returns nothing if the text does not parse, with
/// the errors reported, or, without an error, if formatting would change its meaning (a bug).
std::optional<std::string> formatSource(llvm::StringRef text, llvm::StringRef filename,
                                        DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_FRONTEND_FORMAT_H
