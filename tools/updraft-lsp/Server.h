//===- Server.h - The language server -----------------------------------------------*- C++ -*-===//
// Handles requests of the Language Server Protocol one after another.

#ifndef UPDRAFT_TOOLS_LSP_SERVER_H
#define UPDRAFT_TOOLS_LSP_SERVER_H

#include "llvm/Support/raw_ostream.h"

#include <cstdio>

namespace updraft {

/// Runs until the client sends `exit` or closes the connection. Returns true if the client
/// requested the shutdown before `exit`.
bool serve(std::FILE *in, llvm::raw_ostream &out);

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_SERVER_H
