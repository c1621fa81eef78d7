//===- Server.h - The language server -----------------------------------------------*- C++ -*-===//
// Answers requests of the Language Server Protocol, one after the other.

#ifndef UPDRAFT_TOOLS_LSP_SERVER_H
#define UPDRAFT_TOOLS_LSP_SERVER_H

#include "llvm/Support/Error.h"
#include "llvm/Support/LSP/Transport.h"

namespace updraft {

/// Serves until the client says `exit`, or its end of the connection closes. True if it had asked
/// for the shutdown before.
llvm::Expected<bool> serve(llvm::lsp::JSONTransport &transport);

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_SERVER_H
