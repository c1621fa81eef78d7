//===- Connection.cpp - Messages of a session -------------------------------------------------===//

#include "tools/updraft-lsp/Connection.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Logging.h"

using namespace updraft;
namespace json = llvm::json;
using llvm::StringRef;
using llvm::lsp::ErrorCode;

/// No message of the protocol nests deeper, and the parser is recursive.
static constexpr unsigned maxNesting = 200;

static bool nestsTooDeep(StringRef text) {
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

void Connection::refuse(json::Value id, ErrorCode code, const llvm::Twine &message) {
  llvm::lsp::Logger::error("refused: {0}", message.str());
  transport.reply(std::move(id), llvm::make_error<llvm::lsp::LSPError>(message.str(), code));
}

bool Connection::run() {
  while (true) {
    llvm::Expected<std::optional<std::string>> text = input.read();
    if (!text)
      refuse(nullptr, ErrorCode::InvalidRequest, llvm::toString(text.takeError()));
    else if (!*text)
      return false;
    else if (!handle(**text))
      return phase == Phase::ShutDown;
  }
}

bool Connection::handle(StringRef text) {
  auto refuseAll = [&](ErrorCode code, const llvm::Twine &message) {
    refuse(nullptr, code, message);
    return true;
  };
  if (nestsTooDeep(text))
    return refuseAll(ErrorCode::ParseError,
                     "the message is nested more than " + llvm::Twine(maxNesting) + " deep");
  llvm::Expected<json::Value> message = json::parse(text);
  if (!message)
    return refuseAll(ErrorCode::ParseError,
                     "the message isn't valid JSON: " + llvm::toString(message.takeError()));
  if (message->getAsArray())
    return refuseAll(ErrorCode::InvalidRequest,
                     "the protocol has no batches; send each message separately");
  json::Object *object = message->getAsObject();
  if (!object || object->getString("jsonrpc") != "2.0")
    return refuseAll(ErrorCode::InvalidRequest, "expected an object with `jsonrpc`: `2.0`");

  const json::Value *id = object->get("id");
  if (id && (id->getAsObject() || id->getAsArray() || id->getAsBoolean()))
    return refuseAll(ErrorCode::InvalidRequest, "expected a number or a string as `id`");
  auto member = [&](StringRef name) {
    json::Value *found = object->get(name);
    return found ? std::move(*found) : json::Value(nullptr);
  };
  if (!object->get("method")) {
    // The server doesn't send requests, so it ignores answers.
    if (!id || (!object->get("result") && !object->get("error")))
      refuse(member("id"), ErrorCode::InvalidRequest, "missing `method`");
    return true;
  }
  std::optional<StringRef> method = object->getString("method");
  if (!method) {
    refuse(member("id"), ErrorCode::InvalidRequest, "expected a string as `method`");
    return true;
  }
  json::Value params = member("params");
  uris.toServer(params);
  if (id)
    handleRequest(*method, std::move(params), member("id"));
  else if (*method == "exit")
    return false;
  else if (phase == Phase::Initialized)
    handler.onNotify(*method, std::move(params));
  return true;
}

void Connection::handleRequest(StringRef method, json::Value params, json::Value id) {
  if (phase == Phase::New && method != "initialize")
    return refuse(std::move(id), ErrorCode::ServerNotInitialized,
                  "`" + method + "` before `initialize`");
  if (phase == Phase::Initialized && method == "initialize")
    return refuse(std::move(id), ErrorCode::InvalidRequest, "`initialize` was already sent");
  if (phase == Phase::ShutDown)
    return refuse(std::move(id), ErrorCode::InvalidRequest, "`" + method + "` after `shutdown`");
  handler.onCall(method, std::move(params), std::move(id));
  if (method == "initialize")
    phase = Phase::Initialized;
  else if (method == "shutdown")
    phase = Phase::ShutDown;
}
