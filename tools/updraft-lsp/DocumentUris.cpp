//===- DocumentUris.cpp - URIs of unsaved documents -------------------------------------------===//

#include "tools/updraft-lsp/DocumentUris.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/LSP/Protocol.h"

using namespace updraft;
namespace json = llvm::json;
using llvm::StringRef;

void DocumentUris::toServer(json::Value &params) {
  json::Object *object = params.getAsObject();
  json::Object *document = object ? object->getObject("textDocument") : nullptr;
  std::optional<StringRef> uri = document ? document->getString("uri") : std::nullopt;
  if (!uri)
    return;
  auto [scheme, rest] = uri->split(':');
  if (scheme.size() == uri->size() || scheme.empty() || scheme == "file")
    return;
  llvm::lsp::URIForFile::registerSupportedScheme(scheme);
  if (rest.starts_with("/"))
    return;
  std::string known = (scheme + ":///" + rest).str();
  editorUris.try_emplace(known, uri->str());
  (*document)["uri"] = std::move(known);
}

json::Value DocumentUris::toEditor(json::Value value) const {
  if (json::Array *array = value.getAsArray())
    for (json::Value &element : *array)
      element = toEditor(std::move(element));
  json::Object *object = value.getAsObject();
  if (!object)
    return value;
  for (auto &[name, member] : *object) {
    if (name != "uri") {
      member = toEditor(std::move(member));
      continue;
    }
    auto found = editorUris.find(member.getAsString().value_or("").str());
    if (found != editorUris.end())
      member = found->second;
  }
  return value;
}
