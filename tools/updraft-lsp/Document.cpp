//===- Document.cpp - An open file and its analysis -------------------------------------------===//

#include "tools/updraft-lsp/Document.h"

#include "tools/updraft-lsp/LibraryFiles.h"
#include "tools/updraft-lsp/Positions.h"
#include "updraft/Frontend/Format.h"
#include "llvm/Support/JSON.h"

using namespace updraft;
using llvm::StringRef;
namespace lsp = llvm::lsp;

Document::Document(lsp::URIForFile uri, std::string text, int64_t version,
                   const OpenFiles &openFiles)
    : fileUri(std::move(uri)), text(std::move(text)), version(version) {
  refresh(openFiles);
}

void Document::refresh(const OpenFiles &openFiles) {
  engine = DiagnosticEngine();
  analysis = analyzeProgram(text, fileUri.file(), openFiles, engine);
  declarations = declarationsOf(analysis.program->main());
}

bool Document::isOfLibrary(const SourceFile &file) const {
  return llvm::none_of(analysis.program->files(),
                       [&](const auto &known) { return known.get() == &file; });
}

std::optional<lsp::Location> Document::locationOf(SourceRange range) const {
  if (range.file == &source())
    return lsp::Location(fileUri, rangeOf(range));
  std::string path =
      isOfLibrary(*range.file) ? copyOnDisk(*range.file) : std::string(range.file->path());
  auto uri = lsp::URIForFile::fromFile(path);
  if (!uri) {
    llvm::consumeError(uri.takeError());
    return std::nullopt;
  }
  return lsp::Location(*uri, rangeOf(range));
}

SourceRange Document::importOf(const SourceFile &file) const {
  SourceRange first{&source(), 0, 0};
  for (const ImportDeclaration &declaration : analysis.program->main().imports) {
    SourceRange path = declaration.path->range;
    const Index::Use *use = analysis.index.useAt(source(), path.begin);
    if (use && use->declared.file == &file)
      return path;
    if (first.end == 0)
      first = path;
  }
  return first;
}

lsp::PublishDiagnosticsParams Document::diagnostics() const {
  lsp::PublishDiagnosticsParams result(fileUri, version);
  for (const updraft::Diagnostic &diagnostic : engine.diagnostics()) {
    lsp::Diagnostic shown;
    shown.severity = lsp::DiagnosticSeverity::Error;
    shown.source = "updraft";
    shown.message = llvm::json::fixUTF8(diagnostic.message);
    std::vector<lsp::DiagnosticRelatedInformation> related;
    // An error in an imported file is shown at the import.
    bool isHere = diagnostic.range.file == &source();
    if (isHere)
      shown.range = rangeOf(diagnostic.range);
    else if (diagnostic.range.file) {
      shown.range = rangeOf(importOf(*diagnostic.range.file));
      if (auto location = locationOf(diagnostic.range))
        related.emplace_back(*location, shown.message);
    }
    for (const updraft::Diagnostic &note : diagnostic.notes) {
      if (!note.range.file)
        continue;
      if (auto location = locationOf(note.range))
        related.emplace_back(*location, llvm::json::fixUTF8(note.message));
    }
    if (!related.empty())
      shown.relatedInformation = std::move(related);
    result.diagnostics.push_back(std::move(shown));
  }
  return result;
}

Document::Found Document::find(SourceRange name, std::vector<Declaration> &storage) const {
  const ParsedFile *file = nullptr;
  for (const auto &parsed : analysis.program->parsed)
    if (parsed->source.get() == name.file)
      file = parsed.get();
  for (const auto &entry : analysis.program->main().visible)
    if (entry.second->name.range.file == name.file)
      file = entry.second->file;
  for (const auto &entry : analysis.program->main().stages)
    if (entry.second->name.range.file == name.file)
      file = entry.second->file;
  if (!file)
    return {};
  storage = declarationsOf(*file);
  for (const Declaration &declaration : storage) {
    if (declaration.name.range.begin == name.begin)
      return {&declaration, nullptr};
    for (const Declaration &part : declaration.parts)
      if (part.name.range.begin == name.begin)
        return {&part, &declaration};
  }
  return {};
}

SourceRange Document::declaredAt(uint32_t offset) const {
  if (const Index::Use *use = analysis.index.useAt(source(), offset))
    return use->declared;
  auto isAt = [&](const Declaration &declaration) {
    SourceRange range = declaration.name.range;
    return range.begin <= offset && offset <= range.end;
  };
  for (const Declaration &declaration : declarations) {
    if (isAt(declaration))
      return declaration.name.range;
    for (const Declaration &part : declaration.parts)
      if (isAt(part))
        return part.name.range;
  }
  return {};
}

std::vector<lsp::Location> Document::definition(const lsp::Position &position) const {
  SourceRange declared = declaredAt(offsetOf(source(), position));
  if (!declared.file)
    return {};
  auto location = locationOf(declared);
  return location ? std::vector<lsp::Location>{*location} : std::vector<lsp::Location>{};
}

static lsp::SymbolKind symbolKind(DeclarationKind kind) {
  switch (kind) {
  case DeclarationKind::Rule:
  case DeclarationKind::Transform:
    return lsp::SymbolKind::Class;
  case DeclarationKind::Function:
    return lsp::SymbolKind::Function;
  case DeclarationKind::Hyperparameter:
    return lsp::SymbolKind::Property;
  case DeclarationKind::Flag:
    return lsp::SymbolKind::Constant;
  case DeclarationKind::State:
    return lsp::SymbolKind::Field;
  case DeclarationKind::Argument:
  case DeclarationKind::Input:
  case DeclarationKind::Let:
    return lsp::SymbolKind::Variable;
  }
  return lsp::SymbolKind::Variable;
}

std::vector<lsp::DocumentSymbol> Document::symbols() const {
  auto symbolOf = [&](const Declaration &declaration) {
    lsp::DocumentSymbol symbol(declaration.name.text, symbolKind(declaration.kind),
                               rangeOf(declaration.extent), rangeOf(declaration.name.range));
    bool isRule =
        declaration.kind == DeclarationKind::Rule || declaration.kind == DeclarationKind::Transform;
    symbol.detail =
        isRule ? describe(declaration.kind).str() : analysis.index.typeAt(declaration.name.range);
    return symbol;
  };
  std::vector<lsp::DocumentSymbol> symbols;
  for (const Declaration &declaration : declarations) {
    symbols.push_back(symbolOf(declaration));
    for (const Declaration &part : declaration.parts)
      if (part.kind != DeclarationKind::Input)
        symbols.back().children.push_back(symbolOf(part));
  }
  return symbols;
}

std::vector<lsp::TextEdit> Document::formatting() const {
  DiagnosticEngine unused;
  auto formatted = formatSource(text, fileUri.file(), unused);
  if (!formatted || *formatted == text)
    return {};
  uint32_t end = source().text().size();
  return {{rangeOf({&source(), 0, end}), std::move(*formatted)}};
}
