//===- MessageInput.cpp - Only what is a message ----------------------------------------------===//

#include "tools/updraft-lsp/MessageInput.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Logging.h"

using namespace updraft;
namespace json = llvm::json;

static bool isMessage(llvm::StringRef text) {
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
