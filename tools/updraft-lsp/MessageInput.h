//===- MessageInput.h - Only what is a message --------------------------------------*- C++ -*-===//
// LLVM's transport takes anything else, an array say, for the end of the connection.

#ifndef UPDRAFT_TOOLS_LSP_MESSAGEINPUT_H
#define UPDRAFT_TOOLS_LSP_MESSAGEINPUT_H

#include "llvm/Support/LSP/Transport.h"

namespace updraft {

class MessageInput : public llvm::lsp::JSONTransportInput {
public:
  explicit MessageInput(std::FILE *in) : file(in) {}

  bool hasError() const final { return file.hasError(); }
  bool isEndOfInput() const final { return file.isEndOfInput(); }
  llvm::LogicalResult readDelimitedMessage(std::string &json) final {
    return file.readDelimitedMessage(json);
  }
  /// Logs and skips what is no message.
  llvm::LogicalResult readStandardMessage(std::string &json) final;

private:
  llvm::lsp::JSONTransportInputOverFile file;
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_MESSAGEINPUT_H
