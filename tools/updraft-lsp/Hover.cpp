//===- Hover.cpp - Hover text of a name or an operator ----------------------------------------===//

#include "tools/updraft-lsp/Document.h"

#include "tools/updraft-lsp/Positions.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace updraft;
using llvm::StringRef;
namespace lsp = llvm::lsp;

static std::string builtinText(const BuiltinFunction &builtin) {
  return llvm::formatv("built-in function of {0} number{1}", builtin.arity,
                       builtin.arity == 1 ? "" : "s")
      .str();
}

// The text of the declaration, its kind and type, and the comment above it.
std::string Document::describeDeclaration(const Found &found, SourceRange shown) const {
  const Declaration &declaration = *found.declaration;
  const SourceFile &file = *declaration.name.range.file;
  std::string text = "```upd\n" + headOf(declaration) + "\n```\n";
  text += describe(declaration.kind);
  if (found.parent)
    text += (" of `" + found.parent->name.text + "`").str();
  else if (isOfLibrary(file))
    text += " of the standard library";
  else if (&file != &source())
    text += (" of `" + llvm::sys::path::filename(file.path()) + "`").str();
  std::string type = analysis.index.typeAt(shown);
  if (type.empty())
    type = analysis.index.typeAt(declaration.name.range);
  if (declaration.kind == DeclarationKind::Function) {
    if (shown.begin != declaration.name.range.begin || shown.file != &file)
      text += "; here it gives " + type;
  } else if (!declaration.isScope() && !type.empty()) {
    text += ": " + type;
  }
  bool startsLine = declaration.kind != DeclarationKind::Argument &&
                    declaration.kind != DeclarationKind::Hyperparameter &&
                    declaration.kind != DeclarationKind::Flag &&
                    declaration.kind != DeclarationKind::Input;
  std::string comment = startsLine ? commentAbove(declaration.name.range) : "";
  if (!comment.empty())
    text += "\n\n```text\n" + comment + "```";
  return text;
}

std::optional<lsp::Hover> Document::hover(const lsp::Position &position) const {
  uint32_t offset = offsetOf(source(), position);
  SourceRange place, declared = declaredAt(offset);
  std::string content;
  if (declared.file) {
    const Index::Use *use = analysis.index.useAt(source(), offset);
    place = use ? use->range : declared;
    std::vector<Declaration> storage;
    Found found = find(declared, storage);
    if (found.declaration)
      content = describeDeclaration(found, place);
    else // an import
      content = "`" + declared.file->path() + "`";
  } else {
    place = analysis.index.typedPlaceAt(source(), offset);
    if (!place.file)
      return std::nullopt;
    content = analysis.index.typeAt(place);
    for (const BuiltinFunction &builtin : builtinFunctions())
      if (builtin.name == place.text())
        content =
            "`" + builtin.name.str() + "`: " + builtinText(builtin) + "; here it gives " + content;
  }
  lsp::Hover hover(rangeOf(place));
  hover.contents.value = llvm::json::fixUTF8(content);
  return hover;
}
