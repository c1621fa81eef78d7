//===- MessageInput.h - Reads messages from a stream --------------------------------*- C++ -*-===//
// Reads the base protocol: headers, an empty line, and then `Content-Length` bytes.

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

  /// Returns the bytes of the next message, or nothing at the end of the stream. Fails if the
  /// headers don't give a valid length. The next call then continues after these headers.
  llvm::Expected<std::optional<std::string>> read();

private:
  /// Returns nothing at the end of the stream, and at most `maxLine` bytes of a longer line.
  std::optional<std::string> readLine();

  std::FILE *in;
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_MESSAGEINPUT_H
