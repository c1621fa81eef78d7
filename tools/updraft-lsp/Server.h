//===- Server.h - The language server -----------------------------------------------*- C++ -*-===//
// Answers requests of the Language Server Protocol, one after the other.

#ifndef UPDRAFT_TOOLS_LSP_SERVER_H
#define UPDRAFT_TOOLS_LSP_SERVER_H

#include "llvm/Support/raw_ostream.h"

#include <cstdio>

namespace updraft {

/// Serves until the client says `exit`, or its end of the connection closes. True if it had asked
/// for the shutdown before `exit`.
bool serve(std::FILE *in, llvm::raw_ostream &out);

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_SERVER_H
