//===- Completion.cpp - Completion at a position ----------------------------------------------===//

#include "tools/updraft-lsp/Document.h"

#include "tools/updraft-lsp/Positions.h"
#include "updraft/Frontend/Numerics.h"
#include "updraft/Frontend/Parser.h"
#include "updraft/Frontend/Token.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace updraft;
using llvm::StringRef;
namespace lsp = llvm::lsp;

namespace {
/// The tokens before the cursor, without the word that is being typed.
class Before {
public:
  Before(const SourceFile &file, uint32_t offset) {
    DiagnosticEngine unused;
    std::vector<SourceRange> comments;
    tokens = lex(file, unused, &comments);
    tokens.pop_back(); // end-of-file token
    isInText = llvm::any_of(comments, [&](const SourceRange &comment) {
      return comment.begin < offset && offset <= comment.end;
    });
    for (const Token &token : tokens)
      isInText |= token.kind == TokenKind::String && token.begin < offset && offset < token.end;
    llvm::erase_if(tokens, [&](const Token &token) {
      bool isTyped = isKeyword(file.text().slice(token.begin, token.end)) ||
                     token.kind == TokenKind::Identifier || token.kind == TokenKind::Number;
      return isTyped ? token.end >= offset : token.end > offset;
    });
  }

  TokenKind last() const { return tokens.empty() ? TokenKind::End : tokens.back().kind; }

  /// Whether the cursor is between the parentheses of `update(…)`.
  bool isInInputs() const {
    auto before = llvm::ArrayRef(tokens);
    while (!before.empty() &&
           (before.back().kind == TokenKind::Comma || before.back().kind == TokenKind::Identifier))
      before = before.drop_back();
    return before.size() > 1 && before.back().kind == TokenKind::LeftParen &&
           (before[before.size() - 2].kind == TokenKind::Update ||
            before[before.size() - 2].kind == TokenKind::Finish);
  }

  bool has(TokenKind kind, uint32_t since) const {
    return llvm::any_of(
        tokens, [&](const Token &token) { return token.kind == kind && token.begin >= since; });
  }

  bool isInText = false; ///< in a comment or a string

private:
  std::vector<Token> tokens;
};

class Items {
public:
  void add(StringRef name, lsp::CompletionItemKind kind, StringRef detail = "",
           StringRef documentation = "") {
    if (!names.insert(name).second)
      return;
    lsp::CompletionItem item(name, kind);
    item.detail = detail.str();
    if (!documentation.empty())
      item.documentation = {lsp::MarkupKind::PlainText, documentation.str()};
    list.items.push_back(std::move(item));
  }
  lsp::CompletionList take() { return std::move(list); }

private:
  lsp::CompletionList list;
  std::set<StringRef> names;
};

lsp::CompletionItemKind itemKind(DeclarationKind kind) {
  switch (kind) {
  case DeclarationKind::State:
    return lsp::CompletionItemKind::Field;
  case DeclarationKind::Hyperparameter:
    return lsp::CompletionItemKind::Property;
  case DeclarationKind::Flag:
    return lsp::CompletionItemKind::Constant;
  default:
    return lsp::CompletionItemKind::Variable;
  }
}
} // namespace

lsp::CompletionList Document::completion(const lsp::Position &position) const {
  uint32_t offset = offsetOf(source(), position);
  Before before(source(), offset);
  Items items;
  if (before.isInText)
    return items.take();
  const Declaration *scope = nullptr;
  for (const Declaration &declaration : declarations)
    if (declaration.extent.begin <= offset && offset <= declaration.extent.end)
      scope = &declaration;

  auto addParts = [&](auto isWanted) {
    for (const Declaration &part :
         scope ? llvm::ArrayRef(scope->parts) : llvm::ArrayRef<Declaration>())
      if (isWanted(part))
        items.add(part.name.text, itemKind(part.kind),
                  (describe(part.kind) + ", " + analysis.index.typeAt(part.name.range)).str());
  };
  auto addStages = [&] {
    std::vector<const Rule *> stages;
    for (const auto &entry : analysis.program->main().stages)
      stages.push_back(entry.second);
    llvm::sort(stages, [](auto *a, auto *b) { return a->name.text < b->name.text; });
    for (const Rule *stage : stages)
      items.add(stage->name.text, lsp::CompletionItemKind::Class,
                stage->isTransform ? "transform" : "rule", commentAbove(stage->name.range));
  };
  if (before.isInInputs()) {
    for (StringRef name : updateInputs(scope && scope->kind == DeclarationKind::Transform))
      items.add(name, lsp::CompletionItemKind::Variable, "input of update");
    return items.take();
  }
  switch (before.last()) {
  case TokenKind::Let:
  case TokenKind::State:
  case TokenKind::Fn:
  case TokenKind::Rule:
  case TokenKind::Transform:
  case TokenKind::Import:
    return items.take(); // a new name
  case TokenKind::Colon:
    for (StringRef name : storageTypeNames())
      items.add(name, lsp::CompletionItemKind::TypeParameter, "storage type");
    return items.take();
  case TokenKind::Over:
    for (StringRef name : overNames())
      items.add(name, lsp::CompletionItemKind::Keyword, "extent of a state");
    return items.take();
  case TokenKind::Pipe:
    addStages();
    return items.take();
  case TokenKind::Next:
    items.add("param", lsp::CompletionItemKind::Variable, "the parameter");
    if (scope && scope->kind == DeclarationKind::Transform)
      items.add("grad", lsp::CompletionItemKind::Variable, "the gradient of the rule");
    addParts([](const Declaration &part) { return part.kind == DeclarationKind::State; });
    return items.take();
  default:
    break;
  }

  bool isInUpdate = scope && before.has(TokenKind::Update, scope->extent.begin);
  bool isFunction = scope && scope->kind == DeclarationKind::Function;
  addParts([&](const Declaration &part) {
    switch (part.kind) {
    case DeclarationKind::Let: // not inside its own value
      return before.has(TokenKind::Let, part.extent.begin) ||
             before.has(TokenKind::Next, part.extent.begin) ||
             before.has(TokenKind::Return, part.extent.begin);
    case DeclarationKind::State:
    case DeclarationKind::Input:
      return isInUpdate;
    default:
      return isFunction || part.extent.end < offset;
    }
  });
  if (scope) {
    for (const BuiltinFunction &builtin : builtinFunctions())
      items.add(
          builtin.name, lsp::CompletionItemKind::Function,
          llvm::formatv("built-in, {0} argument{1}", builtin.arity, builtin.arity == 1 ? "" : "s")
              .str());
    std::vector<const Function *> functions;
    for (const auto &entry : analysis.program->main().visible)
      functions.push_back(entry.second);
    llvm::sort(functions, [](auto *a, auto *b) { return a->name.text < b->name.text; });
    for (const Function *function : functions) {
      std::string parameters;
      for (const Identifier &parameter : function->parameters)
        parameters += (parameters.empty() ? "" : ", ") + parameter.text.str();
      items.add(function->name.text, lsp::CompletionItemKind::Function,
                function->name.text.str() + "(" + parameters + ")",
                commentAbove(function->name.range));
    }
  }
  items.add(numericsName, lsp::CompletionItemKind::Constant, "the numerics mode, a string");
  for (StringRef keyword : keywords())
    items.add(keyword, lsp::CompletionItemKind::Keyword);
  return items.take();
}
