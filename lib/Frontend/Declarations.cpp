//===- Declarations.cpp - The declarations of a file ------------------------------------------===//

#include "Words.h"

#include "updraft/Frontend/Index.h"

#include "LineBreaking.h"

#include "llvm/ADT/STLExtras.h"

using namespace updraft;
using llvm::StringRef;

namespace {
/// Finds the ends of declarations. The tree lacks them because it drops parentheses and braces.
class Extents {
public:
  explicit Extents(const SourceFile &file) : file(file) {
    DiagnosticEngine unused;
    all = splitWords(file, unused);
  }

  Words words() const { return all; }
  Identifier identifier(const Word &word) const {
    uint32_t begin = offsetOf(word);
    return {word.text, {&file, begin, static_cast<uint32_t>(begin + word.text.size())}};
  }

  /// From the name to the end of its statement.
  SourceRange statement(SourceRange name) const {
    return {&file, name.begin, endOf(firstAfter(name), /*takesBlock=*/false)};
  }
  /// From the name to the closing brace.
  SourceRange block(SourceRange name) const {
    return {&file, name.begin, endOf(firstAfter(name), /*takesBlock=*/true)};
  }

private:
  size_t firstAfter(SourceRange name) const {
    return llvm::partition_point(all, [&](const Word &word) { return offsetOf(word) < name.end; }) -
           all.begin();
  }
  uint32_t offsetOf(const Word &word) const { return word.text.data() - file.text().data(); }

  uint32_t endOf(size_t index, bool takesBlock) const {
    unsigned parens = 0, braces = 0;
    for (size_t i = index; i < all.size(); ++i) {
      TokenKind kind = all[i].kind;
      bool isOutside = parens == 0 && braces == 0;
      if (kind == TokenKind::End || (kind == TokenKind::RightBrace && braces == 0) ||
          (isOutside && kind == TokenKind::Comma) || (isOutside && kind == TokenKind::RightParen) ||
          (isOutside && startsItem(kind) && kind != TokenKind::Require) ||
          (isOutside && !takesBlock && kind == TokenKind::LeftBrace))
        return i == 0 ? 0 : offsetOf(all[i - 1]) + all[i - 1].text.size();
      parens += kind == TokenKind::LeftParen;
      parens -= kind == TokenKind::RightParen && parens > 0;
      braces += kind == TokenKind::LeftBrace;
      braces -= kind == TokenKind::RightBrace && braces > 0;
      if (kind == TokenKind::RightBrace && braces == 0)
        return offsetOf(all[i]) + 1;
    }
    return file.text().size();
  }

  const SourceFile &file;
  std::vector<Word> all;
};

class Collector {
public:
  explicit Collector(const ParsedFile &file) : file(file), extents(*file.source) {}

  std::vector<Declaration> run() {
    std::vector<Declaration> all;
    for (const Function &function : file.functions) {
      all.push_back(
          {DeclarationKind::Function, function.name, extents.block(function.name.range), {}});
      for (const Identifier &parameter : function.parameters)
        add(all.back(), DeclarationKind::Argument, parameter, parameter.range);
      for (const Let &let : function.lets) {
        if (!let.repeat)
          add(all.back(), DeclarationKind::Let, let.name);
        else
          for (const Let &variable : let.repeat->variables)
            add(all.back(), DeclarationKind::Let, variable.name);
      }
    }
    addUnfinishedFunctions(all);
    for (const auto *rules : {&file.rules, &file.transforms})
      for (const Rule &rule : *rules)
        if (!rule.name.text.empty())
          all.push_back(collect(rule));
    llvm::sort(all, [](const Declaration &a, const Declaration &b) {
      return a.extent.begin < b.extent.begin;
    });
    return all;
  }

private:
  // A function with an error is not in the tree, but may be the one that the user is editing.
  void addUnfinishedFunctions(std::vector<Declaration> &all) {
    Words words = extents.words();
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      Identifier name = extents.identifier(words[i + 1]);
      if (words[i].kind != TokenKind::Fn || words[i + 1].kind != TokenKind::Identifier ||
          llvm::any_of(file.functions, [&](const Function &known) {
            return known.name.range.begin == name.range.begin;
          }))
        continue;
      Declaration function{DeclarationKind::Function, name, extents.block(name.range), {}};
      size_t at = i + 2;
      for (; words[at].kind == TokenKind::LeftParen || words[at].kind == TokenKind::Comma ||
             words[at].kind == TokenKind::Identifier;
           ++at)
        if (words[at].kind == TokenKind::Identifier)
          add(function, DeclarationKind::Argument, extents.identifier(words[at]),
              extents.identifier(words[at]).range);
      for (; at + 1 < words.size(); ++at) {
        Identifier let = extents.identifier(words[at + 1]);
        if (let.range.end > function.extent.end)
          break;
        if (words[at].kind == TokenKind::Let && words[at + 1].kind == TokenKind::Identifier)
          add(function, DeclarationKind::Let, let);
      }
      all.push_back(std::move(function));
    }
  }

  Declaration collect(const Rule &rule) {
    Declaration result{rule.isTransform ? DeclarationKind::Transform : DeclarationKind::Rule,
                       rule.name,
                       extents.block(rule.name.range),
                       {}};
    for (const Parameter &parameter : rule.parameters)
      add(result, parameter.isStatic ? DeclarationKind::Flag : DeclarationKind::Hyperparameter,
          parameter.name);
    for (const State &state : rule.states)
      add(result, DeclarationKind::State, state.name);
    for (const std::optional<Update> &update : {rule.update, rule.finish}) {
      if (!update)
        continue;
      for (const Identifier &input : update->inputs)
        add(result, DeclarationKind::Input, input, input.range);
      for (const Statement &statement : update->statements)
        if (statement.kind == StatementKind::Let)
          add(result, DeclarationKind::Let, statement.name);
    }
    llvm::sort(result.parts, [](const Declaration &a, const Declaration &b) {
      return a.extent.begin < b.extent.begin;
    });
    return result;
  }

  void add(Declaration &to, DeclarationKind kind, const Identifier &name) {
    add(to, kind, name, extents.statement(name.range));
  }
  static void add(Declaration &to, DeclarationKind kind, const Identifier &name,
                  SourceRange extent) {
    to.parts.push_back({kind, name, extent, {}});
  }

  const ParsedFile &file;
  Extents extents;
};
} // namespace

StringRef updraft::describe(DeclarationKind kind) {
  switch (kind) {
  case DeclarationKind::Rule:
    return "rule";
  case DeclarationKind::Transform:
    return "transform";
  case DeclarationKind::Function:
    return "function";
  case DeclarationKind::Argument:
    return "argument";
  case DeclarationKind::Hyperparameter:
    return "hyperparameter";
  case DeclarationKind::Flag:
    return "static flag";
  case DeclarationKind::State:
    return "state";
  case DeclarationKind::Input:
    return "input";
  case DeclarationKind::Let:
    return "value";
  }
  return "";
}

std::vector<Declaration> updraft::declarationsOf(const ParsedFile &file) {
  return Collector(file).run();
}

std::string updraft::headOf(const Declaration &declaration) {
  auto file = SourceFile::create("", declaration.extent.text().str());
  DiagnosticEngine unused;
  std::vector<Word> words = splitWords(*file, unused);
  auto head = llvm::ArrayRef(words).take_while([&](const Word &word) {
    return word.kind != TokenKind::LeftBrace && word.kind != TokenKind::Require &&
           word.kind != TokenKind::End;
  });
  StringRef keyword;
  switch (declaration.kind) {
  case DeclarationKind::Rule:
    keyword = "rule ";
    break;
  case DeclarationKind::Transform:
    keyword = "transform ";
    break;
  case DeclarationKind::Function:
    keyword = "fn ";
    break;
  case DeclarationKind::Flag:
    keyword = "static ";
    break;
  case DeclarationKind::State:
    keyword = "state ";
    break;
  case DeclarationKind::Let:
    keyword = "let ";
    break;
  default:
    break;
  }
  return keyword.str() + onOneLine(head);
}

std::string updraft::commentAbove(SourceRange name) {
  std::vector<StringRef> lines;
  for (unsigned number = name.file->position(name.begin).line - 1; number > 0; --number) {
    StringRef line = name.file->line(number).trim();
    if (!line.consume_front("//"))
      break;
    line.consume_front(" ");
    lines.push_back(line);
  }
  std::string text;
  for (StringRef line : llvm::reverse(lines))
    text += line.str() + "\n";
  return text;
}
