//===- Connection.h - Messages of a session -----------------------------------------*- C++ -*-===//
// Checks which messages the protocol allows in the current phase, and rejects the others. LLVM's
// transport would end the connection at malformed input, and it doesn't track the phase.

#ifndef UPDRAFT_TOOLS_LSP_CONNECTION_H
#define UPDRAFT_TOOLS_LSP_CONNECTION_H

#include "tools/updraft-lsp/DocumentUris.h"
#include "tools/updraft-lsp/MessageInput.h"
#include "llvm/Support/LSP/Transport.h"

namespace updraft {

class Connection {
public:
  /// Only writes to `transport`.
  Connection(std::FILE *in, llvm::lsp::JSONTransport &transport, llvm::lsp::MessageHandler &handler,
             DocumentUris &uris)
      : input(in), transport(transport), handler(handler), uris(uris) {}

  /// Handles messages until the client sends `exit` or closes the connection. Returns whether the
  /// client requested the shutdown before `exit`.
  bool run();

private:
  /// Returns false after `exit`.
  bool handle(llvm::StringRef text);
  void handleRequest(llvm::StringRef method, llvm::json::Value params, llvm::json::Value id);
  void refuse(llvm::json::Value id, llvm::lsp::ErrorCode code, const llvm::Twine &message);

  enum class Phase { New, Initialized, ShutDown };
  Phase phase = Phase::New;
  MessageInput input;
  llvm::lsp::JSONTransport &transport;
  llvm::lsp::MessageHandler &handler;
  DocumentUris &uris;
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_CONNECTION_H
