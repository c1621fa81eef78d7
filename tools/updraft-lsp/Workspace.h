//===- Workspace.h - The open documents ---------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_LSP_WORKSPACE_H
#define UPDRAFT_TOOLS_LSP_WORKSPACE_H

#include "tools/updraft-lsp/Document.h"

#include <map>

namespace updraft {

class Workspace {
public:
  /// Called with the diagnostics of a document whenever they may have changed.
  using Publish = std::function<void(const llvm::lsp::PublishDiagnosticsParams &)>;
  explicit Workspace(Publish publish) : publish(std::move(publish)) {}

  /// Opens a document, or replaces its text.
  void update(const llvm::lsp::URIForFile &uri, std::string text, int64_t version);
  /// Closes a document. Documents that import it use the file on disk again.
  void close(const llvm::lsp::URIForFile &uri);
  /// Null if the document isn't open. Valid until the next update or close.
  const Document *find(const llvm::lsp::URIForFile &uri) const;

private:
  OpenFiles openFiles() const;
  void refreshOthers(const std::string &changed);

  Publish publish;
  std::map<std::string, std::unique_ptr<Document>> documents;
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_WORKSPACE_H
