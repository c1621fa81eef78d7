//===- Server.cpp - The language server -------------------------------------------------------===//

#include "tools/updraft-lsp/Server.h"

#include "tools/updraft-lsp/Connection.h"
#include "tools/updraft-lsp/Workspace.h"
#include "llvm/Support/JSON.h"

using namespace updraft;
namespace lsp = llvm::lsp;
namespace json = llvm::json;

namespace {
class Server {
public:
  Server(lsp::MessageHandler &messages, lsp::JSONTransport &transport, const DocumentUris &uris)
      : uris(uris), workspace([&](const lsp::PublishDiagnosticsParams &params) {
          transport.notify("textDocument/publishDiagnostics", uris.toEditor(toJSON(params)));
        }) {
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
  }

private:
  void initialize(const lsp::InitializeParams &, lsp::Callback<json::Value> reply) {
    json::Object capabilities{
        // Files are small, so full synchronization is simpler and more robust.
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
  void shutdown(const lsp::NoParams &, lsp::Callback<std::nullptr_t> reply) { reply(nullptr); }

  void didOpen(const lsp::DidOpenTextDocumentParams &params) {
    const lsp::TextDocumentItem &document = params.textDocument;
    workspace.update(document.uri, document.text, document.version);
  }
  void didChange(const lsp::DidChangeTextDocumentParams &params) {
    // The server requested full texts. The last one counts.
    if (params.contentChanges.empty() || params.contentChanges.back().range)
      return;
    workspace.update(params.textDocument.uri, params.contentChanges.back().text,
                     params.textDocument.version);
  }
  void didClose(const lsp::DidCloseTextDocumentParams &params) {
    workspace.close(params.textDocument.uri);
  }

  void hover(const lsp::TextDocumentPositionParams &params,
             lsp::Callback<std::optional<lsp::Hover>> reply) {
    const Document *document = workspace.find(params.textDocument.uri);
    reply(document ? document->hover(params.position) : std::nullopt);
  }
  void definition(const lsp::TextDocumentPositionParams &params, lsp::Callback<json::Value> reply) {
    const Document *document = workspace.find(params.textDocument.uri);
    reply(uris.toEditor(document ? json::Array(document->definition(params.position))
                                 : json::Array()));
  }
  void completion(const lsp::CompletionParams &params, lsp::Callback<lsp::CompletionList> reply) {
    const Document *document = workspace.find(params.textDocument.uri);
    reply(document ? document->completion(params.position) : lsp::CompletionList());
  }
  void documentSymbol(const lsp::DocumentSymbolParams &params,
                      lsp::Callback<std::vector<lsp::DocumentSymbol>> reply) {
    const Document *document = workspace.find(params.textDocument.uri);
    reply(document ? document->symbols() : std::vector<lsp::DocumentSymbol>());
  }
  // Ignores formatting options such as tab size: the format is fixed.
  void formatting(const lsp::DocumentSymbolParams &params,
                  lsp::Callback<std::vector<lsp::TextEdit>> reply) {
    const Document *document = workspace.find(params.textDocument.uri);
    reply(document ? document->formatting() : std::vector<lsp::TextEdit>());
  }

  const DocumentUris &uris;
  Workspace workspace;
};
} // namespace

bool updraft::serve(std::FILE *in, llvm::raw_ostream &out) {
  lsp::JSONTransport transport(std::unique_ptr<lsp::JSONTransportInput>(), out);
  lsp::MessageHandler messages(transport);
  DocumentUris uris;
  Server server(messages, transport, uris);
  return Connection(in, transport, messages, uris).run();
}
