//===- MessageInput.h - The messages of a stream ------------------------------------*- C++ -*-===//
// The base protocol: headers, an empty line, and as many bytes as `Content-Length` says.

#ifndef UPDRAFT_TOOLS_LSP_MESSAGEINPUT_H
#define UPDRAFT_TOOLS_LSP_MESSAGEINPUT_H

#include "llvm/Support/Error.h"

#include <cstdio>
#include <optional>
#include <string>

namespace updraft {

class MessageInput {
public:
  explicit MessageInput(std::FILE *in) : in(in) {}

  /// Returns the bytes of the next message; nothing at the end of the stream. Fails if the headers
  /// do not give their number; the next call continues after these headers.
  llvm::Expected<std::optional<std::string>> read();

private:
  /// Nothing at the end of the stream. Of a longer line, `maxLine` bytes.
  std::optional<std::string> readLine();

  std::FILE *in;
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_MESSAGEINPUT_H
