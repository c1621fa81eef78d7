//===- Workspace.cpp - The open documents -----------------------------------------------------===//

#include "tools/updraft-lsp/Workspace.h"

#include "updraft/Frontend/Parser.h"

using namespace updraft;
using llvm::StringRef;
namespace lsp = llvm::lsp;

/// The path identifies a file, because it can be written as different URIs.
static std::string keyOf(const lsp::URIForFile &uri) {
  return (uri.scheme() == "file" ? uri.file() : uri.uri()).str();
}

// Other documents that import an open document use this text.
OpenFiles Workspace::openFiles() const {
  return [this](StringRef path) -> std::optional<std::string> {
    auto found = documents.find(path.str());
    if (found == documents.end() || found->second->source().text().size() > maxFileSize)
      return std::nullopt;
    return found->second->source().text().str();
  };
}

void Workspace::update(const lsp::URIForFile &uri, std::string text, int64_t version) {
  std::string key = keyOf(uri);
  documents.insert_or_assign(
      key, std::make_unique<Document>(uri, std::move(text), version, openFiles()));
  publish(documents[key]->diagnostics());
  refreshOthers(key);
}

void Workspace::close(const lsp::URIForFile &uri) {
  std::string key = keyOf(uri);
  documents.erase(key);
  publish(lsp::PublishDiagnosticsParams(uri, 0));
  refreshOthers(key);
}

void Workspace::refreshOthers(const std::string &changed) {
  for (auto &[key, document] : documents) {
    if (key == changed || !document->hasImports())
      continue;
    document->refresh(openFiles());
    publish(document->diagnostics());
  }
}

const Document *Workspace::find(const lsp::URIForFile &uri) const {
  auto found = documents.find(keyOf(uri));
  return found == documents.end() ? nullptr : found->second.get();
}
