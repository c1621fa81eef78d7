//===- Document.h - An open file and its analysis -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_LSP_DOCUMENT_H
#define UPDRAFT_TOOLS_LSP_DOCUMENT_H

#include "updraft/Frontend/Index.h"
#include "llvm/Support/LSP/Protocol.h"

namespace updraft {

class Document {
public:
  /// Analyses the text immediately.
  Document(llvm::lsp::URIForFile uri, std::string text, int64_t version,
           const OpenFiles &openFiles);

  const llvm::lsp::URIForFile &uri() const { return fileUri; }
  const SourceFile &source() const { return *analysis.program->main().source; }
  bool hasImports() const { return !analysis.program->main().imports.empty(); }

  /// Analyses again, because an imported file may have changed.
  void refresh(const OpenFiles &openFiles);

  llvm::lsp::PublishDiagnosticsParams diagnostics() const;
  std::optional<llvm::lsp::Hover> hover(const llvm::lsp::Position &position) const;
  std::vector<llvm::lsp::Location> definition(const llvm::lsp::Position &position) const;
  llvm::lsp::CompletionList completion(const llvm::lsp::Position &position) const;
  std::vector<llvm::lsp::DocumentSymbol> symbols() const;
  /// Returns no edits if the file is formatted or doesn't parse.
  std::vector<llvm::lsp::TextEdit> formatting() const;

private:
  /// A declaration and the declaration that contains it.
  struct Found {
    const Declaration *declaration = nullptr;
    const Declaration *parent = nullptr;
  };
  /// Finds the declaration named at `name`, in any file. `storage` owns the result.
  Found find(SourceRange name, std::vector<Declaration> &storage) const;
  /// The declaration of the name at an offset; a range without a file if there isn't one.
  SourceRange declaredAt(uint32_t offset) const;
  /// The import that directly imports a file, or else the first import.
  SourceRange importOf(const SourceFile &file) const;
  std::string describeDeclaration(const Found &found, SourceRange shown) const;
  bool isOfLibrary(const SourceFile &file) const;
  std::optional<llvm::lsp::Location> locationOf(SourceRange range) const;

  llvm::lsp::URIForFile fileUri;
  std::string text;
  int64_t version;
  DiagnosticEngine engine;
  Analysis analysis;
  std::vector<Declaration> declarations; ///< in this file
};

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_DOCUMENT_H
