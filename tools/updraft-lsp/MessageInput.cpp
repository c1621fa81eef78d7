//===- MessageInput.cpp - Reads messages from a stream ----------------------------------------===//

#include "tools/updraft-lsp/MessageInput.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace updraft;
using llvm::StringRef;

/// No header is longer.
static constexpr size_t maxLine = 4096;
static constexpr size_t maxMessage = size_t(1) << 30;

std::optional<std::string> MessageInput::readLine() {
  std::string line;
  for (int c = std::getc(in); c != EOF; c = std::getc(in)) {
    if (c == '\n')
      return line;
    if (line.size() < maxLine)
      line.push_back(static_cast<char>(c));
  }
  return std::nullopt;
}

static llvm::Error refuse(const llvm::Twine &message) { return llvm::createStringError(message); }

llvm::Expected<std::optional<std::string>> MessageInput::read() {
  std::optional<StringRef> value;
  std::string found;
  for (bool any = false;;) {
    std::optional<std::string> line = readLine();
    if (!line)
      return std::nullopt;
    StringRef header = StringRef(*line).trim();
    if (header.empty() && any)
      break;
    any |= !header.empty();
    // After a message with a wrong length, a header may start in the middle of a line.
    constexpr StringRef name = "content-length:";
    if (size_t at = header.find_insensitive(name); at != StringRef::npos) {
      found = header.drop_front(at + name.size()).trim().str();
      value = found;
    }
  }
  size_t length = 0;
  if (!value)
    return refuse("missing header `Content-Length`");
  if (value->getAsInteger(10, length) || length > maxMessage)
    return refuse("expected a number of bytes as `Content-Length`, at most " +
                  llvm::Twine(maxMessage));
  // Reads in chunks, because the announced number of bytes may never arrive.
  std::string text;
  while (text.size() < length) {
    size_t begin = text.size();
    text.resize(std::min(length, begin + (size_t(1) << 20)));
    size_t count = std::fread(text.data() + begin, 1, text.size() - begin, in);
    if (count == 0)
      return std::nullopt;
    text.resize(begin + count);
  }
  return text;
}
