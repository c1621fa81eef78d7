//===- StandardLibrary.h - The embedded standard library ----------------------------*- C++ -*-===//
// Embeds rules/std and rules/transforms at build time, and parses them once per process.

#ifndef UPDRAFT_LIB_FRONTEND_STANDARDLIBRARY_H
#define UPDRAFT_LIB_FRONTEND_STANDARDLIBRARY_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

namespace updraft {

struct EmbeddedFile {
  const char *path;
  const char *text;
};

/// Defined by the source file that EmbedStandardLibrary.cmake writes.
llvm::ArrayRef<EmbeddedFile> embeddedStandardLibrary();

/// The functions by name. Thread-safe.
const llvm::StringMap<const Function *> &standardFunctions();

/// The transforms by name. Thread-safe.
const llvm::StringMap<const Rule *> &standardTransforms();

/// Adds notes about a call to the diagnostics from `index` on. A diagnostic of a standard function
/// that another file calls moves to the call.
void noteCall(DiagnosticEngine &diagnostics, size_t index, const Expr &call);

/// The errors in the embedded files; empty in a library that passed its tests.
const DiagnosticEngine &standardLibraryDiagnostics();

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_STANDARDLIBRARY_H
