//===- MessageInput.cpp - Only what is a message ----------------------------------------------===//

#include "tools/updraft-lsp/MessageInput.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Logging.h"

using namespace updraft;
namespace json = llvm::json;

/// Deeper ones are no messages of the protocol, and parsing recurses.
static constexpr unsigned maxNesting = 200;

static bool nestsTooDeep(llvm::StringRef text) {
  unsigned depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString && c == '\\')
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString && (c == '[' || c == '{') && ++depth > maxNesting)
      return true;
    else if (!inString && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return false;
}

static bool isMessage(llvm::StringRef text) {
  if (nestsTooDeep(text))
    return false;
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("jsonrpc") != "2.0")
    return false;
  return object->get("method") ? object->getString("method").has_value()
                               : object->get("id") != nullptr;
}

llvm::LogicalResult MessageInput::readStandardMessage(std::string &json) {
  while (llvm::succeeded(file.readStandardMessage(json))) {
    if (isMessage(json))
      return llvm::success();
    llvm::lsp::Logger::error("skipped {0} bytes that are no message", json.size());
    if (isEndOfInput() || hasError())
      break;
  }
  return llvm::failure();
}
