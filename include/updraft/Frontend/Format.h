//===- Format.h - Source text in the one style --------------------------------------*- C++ -*-===//
// Lays out a file's words and comments anew; which words there are, and their order, stays the
// same.

#ifndef UPDRAFT_FRONTEND_FORMAT_H
#define UPDRAFT_FRONTEND_FORMAT_H

#include "updraft/Support/Diagnostics.h"

namespace updraft {

/// How many columns a line has.
constexpr unsigned maxLineWidth = 100;

/// The text in the style of docs/tools.md. Nothing if it does not parse, with the errors reported;
/// or, without an error, if the result would say something else, which is a defect.
std::optional<std::string> formatSource(llvm::StringRef text, llvm::StringRef filename,
                                        DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_FRONTEND_FORMAT_H
