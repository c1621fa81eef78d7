//===- Message.cpp - The messages of requirements ---------------------------------------------===//

#include "Message.h"

using namespace updraft;

std::optional<std::vector<MessagePiece>> updraft::splitMessage(const Expr &message) {
  std::string value = stringValue(message);
  std::vector<MessagePiece> pieces;
  std::string text;
  auto flush = [&] {
    if (!text.empty())
      pieces.push_back({false, std::exchange(text, {})});
  };
  for (size_t i = 0; i < value.size(); ++i) {
    char c = value[i];
    if (c != '{' && c != '}') {
      text.push_back(c);
    } else if (i + 1 < value.size() && value[i + 1] == c) {
      text.push_back(c);
      ++i;
    } else {
      size_t end = c == '{' ? value.find('}', i) : std::string::npos;
      if (end == std::string::npos || end == i + 1)
        return std::nullopt;
      flush();
      pieces.push_back({true, value.substr(i + 1, end - i - 1)});
      i = end;
    }
  }
  flush();
  return pieces;
}

std::string updraft::escapeBraces(llvm::StringRef text) {
  std::string escaped;
  for (char c : text) {
    if (c == '{' || c == '}')
      escaped.push_back(c);
    escaped.push_back(c);
  }
  return escaped;
}
