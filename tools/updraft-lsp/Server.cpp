//===- Server.cpp - The language server -------------------------------------------------------===//

#include "tools/updraft-lsp/Server.h"

#include "tools/updraft-lsp/Document.h"
#include "updraft/Frontend/Parser.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace updraft;
namespace lsp = llvm::lsp;
namespace json = llvm::json;
using llvm::StringRef;

namespace {
class Server {
public:
  explicit Server(lsp::MessageHandler &messages) {
    messages.method("initialize", this, &Server::initialize);
    messages.notification("initialized", this, &Server::initialized);
    messages.method("shutdown", this, &Server::shutdown);
    messages.notification("textDocument/didOpen", this, &Server::didOpen);
    messages.notification("textDocument/didChange", this, &Server::didChange);
    messages.notification("textDocument/didClose", this, &Server::didClose);
    messages.method("textDocument/hover", this, &Server::hover);
    messages.method("textDocument/definition", this, &Server::definition);
    messages.method("textDocument/completion", this, &Server::completion);
    messages.method("textDocument/documentSymbol", this, &Server::documentSymbol);
    messages.method("textDocument/formatting", this, &Server::formatting);
    publish = messages.outgoingNotification<lsp::PublishDiagnosticsParams>(
        "textDocument/publishDiagnostics");
  }

  bool isShutDown = false;

private:
  void initialize(const lsp::InitializeParams &, lsp::Callback<json::Value> reply) {
    json::Object capabilities{
        // Files are small; whole texts leave no room for misunderstandings.
        {"textDocumentSync",
         json::Object{{"openClose", true}, {"change", int(lsp::TextDocumentSyncKind::Full)}}},
        {"positionEncoding", "utf-16"},
        {"hoverProvider", true},
        {"definitionProvider", true},
        {"documentSymbolProvider", true},
        {"documentFormattingProvider", true},
        {"completionProvider", json::Object{{"triggerCharacters", json::Array{":", "("}}}},
    };
    reply(json::Object{{"serverInfo", json::Object{{"name", "updraft-lsp"}}},
                       {"capabilities", std::move(capabilities)}});
  }
  void initialized(const lsp::InitializedParams &) {}
  void shutdown(const lsp::NoParams &, lsp::Callback<std::nullptr_t> reply) {
    isShutDown = true;
    reply(nullptr);
  }

  OpenFiles openFiles() {
    return [this](StringRef path) -> std::optional<std::string> {
      auto found = texts.find(path.str());
      if (found == texts.end() || found->second.size() > maxFileSize)
        return std::nullopt;
      return found->second;
    };
  }

  void update(const lsp::URIForFile &uri, std::string text, int64_t version) {
    std::string path = uri.file().str();
    texts[path] = text;
    documents.insert_or_assign(
        path, std::make_unique<Document>(uri, std::move(text), version, openFiles()));
    publish(documents[path]->diagnostics());
    refreshOthers(path);
  }

  // Others may import the file that has changed.
  void refreshOthers(StringRef changed) {
    for (auto &[path, document] : documents) {
      if (path == changed || !document->hasImports())
        continue;
      document->refresh(openFiles());
      publish(document->diagnostics());
    }
  }

  void didOpen(const lsp::DidOpenTextDocumentParams &params) {
    update(params.textDocument.uri, params.textDocument.text, params.textDocument.version);
  }
  void didChange(const lsp::DidChangeTextDocumentParams &params) {
    // Only whole texts were asked for, of which the last counts.
    if (params.contentChanges.empty() || params.contentChanges.back().range)
      return;
    update(params.textDocument.uri, params.contentChanges.back().text, params.textDocument.version);
  }
  void didClose(const lsp::DidCloseTextDocumentParams &params) {
    std::string path = params.textDocument.uri.file().str();
    documents.erase(path);
    texts.erase(path);
    publish(lsp::PublishDiagnosticsParams(params.textDocument.uri, 0));
    refreshOthers(path);
  }

  const Document *find(const lsp::TextDocumentIdentifier &identifier) const {
    auto found = documents.find(identifier.uri.file().str());
    return found == documents.end() ? nullptr : found->second.get();
  }

  void hover(const lsp::TextDocumentPositionParams &params,
             lsp::Callback<std::optional<lsp::Hover>> reply) {
    const Document *document = find(params.textDocument);
    reply(document ? document->hover(params.position) : std::nullopt);
  }
  void definition(const lsp::TextDocumentPositionParams &params,
                  lsp::Callback<std::vector<lsp::Location>> reply) {
    const Document *document = find(params.textDocument);
    reply(document ? document->definition(params.position) : std::vector<lsp::Location>());
  }
  void completion(const lsp::CompletionParams &params, lsp::Callback<lsp::CompletionList> reply) {
    const Document *document = find(params.textDocument);
    reply(document ? document->completion(params.position) : lsp::CompletionList());
  }
  void documentSymbol(const lsp::DocumentSymbolParams &params,
                      lsp::Callback<std::vector<lsp::DocumentSymbol>> reply) {
    const Document *document = find(params.textDocument);
    reply(document ? document->symbols() : std::vector<lsp::DocumentSymbol>());
  }
  // The options of the request, tabs and the like, are not a choice here.
  void formatting(const lsp::DocumentSymbolParams &params,
                  lsp::Callback<std::vector<lsp::TextEdit>> reply) {
    const Document *document = find(params.textDocument);
    reply(document ? document->formatting() : std::vector<lsp::TextEdit>());
  }

  lsp::OutgoingNotification<lsp::PublishDiagnosticsParams> publish;
  std::map<std::string, std::unique_ptr<Document>> documents;
  std::map<std::string, std::string> texts;
};
} // namespace

llvm::Expected<bool> updraft::serve(lsp::JSONTransport &transport) {
  lsp::MessageHandler messages(transport);
  Server server(messages);
  if (llvm::Error error = transport.run(messages))
    return error;
  return server.isShutDown;
}
