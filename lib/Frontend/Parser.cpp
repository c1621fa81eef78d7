//===- Parser.cpp - Declarations and statements -----------------------------------------------===//
// Recursive descent. After an error the parser continues at the next word that starts a statement
// or a declaration, so that one run reports several mistakes. Expressions are in
// ExpressionParser.cpp.

#include "updraft/Frontend/Parser.h"

#include "ChainParser.h"
#include "llvm/ADT/StringExtras.h"

using namespace updraft;
using llvm::StringRef;

namespace {
struct StorageType {
  StringRef name;
  upd_dtype dtype;
};
constexpr StorageType storageTypes[] = {
#define UPD_DTYPE(constant, name, bytes) {name, constant},
#define UPD_MEMORY_DTYPE(constant, name, bytes)
#include "updraft-c/dtypes.def"
};

class Parser : public ChainParser {
public:
  using ChainParser::ChainParser;

  void run() {
    while (!at(TokenKind::End) && !diagnostics.isFull()) {
      if (at(TokenKind::Import))
        parseImport();
      else if (at(TokenKind::Fn))
        parseFunction();
      else if (at(TokenKind::Rule) || at(TokenKind::Transform))
        parseRule();
      else {
        expected("`rule`, `transform`, `fn` or `import`",
                 currentRange().text() == "def" ? "; a function is declared with `fn`" : "");
        recoverToDeclaration();
      }
    }
  }

private:
  // Skips to one of the kinds, or to the end of the file.
  void recover(llvm::ArrayRef<TokenKind> kinds) {
    while (!at(TokenKind::End) && !llvm::is_contained(kinds, current().kind))
      advance();
  }
  void recoverToDeclaration() {
    recover({TokenKind::Import, TokenKind::Fn, TokenKind::Rule, TokenKind::Transform});
  }
  void recoverInBody() {
    recover({TokenKind::State, TokenKind::Update, TokenKind::Finish, TokenKind::RightBrace,
             TokenKind::Rule, TokenKind::Transform, TokenKind::Fn, TokenKind::Import});
  }
  void recoverInUpdate() {
    recover({TokenKind::Let, TokenKind::Next, TokenKind::Skip, TokenKind::Hold, TokenKind::State,
             TokenKind::Update, TokenKind::Finish, TokenKind::RightBrace, TokenKind::Rule,
             TokenKind::Transform, TokenKind::Fn, TokenKind::Import});
  }
  bool atDeclaration() const {
    return at(TokenKind::End) || at(TokenKind::Rule) || at(TokenKind::Transform) ||
           at(TokenKind::Fn) || at(TokenKind::Import);
  }

  const Expr *parseString(StringRef what) {
    if (!at(TokenKind::String)) {
      expected(what);
      return nullptr;
    }
    return parseOperand();
  }

  void parseImport() {
    advance();
    const Expr *path = parseString("the path of a file in quotes");
    if (!path)
      return recoverToDeclaration();
    accept(TokenKind::Semicolon);
    file.imports.push_back({path});
  }

  // name = expression; null if in error.
  const Expr *parseBinding(std::optional<Identifier> &name, StringRef what) {
    name = parseName(what);
    if (!name || !expect(TokenKind::Assign, name ? assignmentHint(name->text) : ""))
      return nullptr;
    return parseExpression();
  }

  // For `next param -= …` of other languages.
  std::string assignmentHint(StringRef name) const {
    bool isOperator =
        at(TokenKind::Plus) || at(TokenKind::Minus) || at(TokenKind::Star) || at(TokenKind::Slash);
    if (!isOperator)
      return "";
    return ("; write the whole value, as in `" + name + " = " + name + " " + currentRange().text() +
            " …`")
        .str();
  }

  void parseFunction() {
    Function function;
    function.file = &file;
    if (parseFunctionParts(function))
      file.functions.push_back(std::move(function));
    else
      recoverToDeclaration();
  }

  StringRef typeHint() const { return at(TokenKind::Colon) ? "; types are inferred" : ""; }

  bool parseFunctionParts(Function &function) {
    advance();
    auto name = parseName("the name of a function");
    if (!name || !expect(TokenKind::LeftParen))
      return false;
    function.name = *name;
    while (!at(TokenKind::RightParen)) {
      auto parameter = parseName("the name of a parameter");
      if (!parameter)
        return false;
      function.parameters.push_back(*parameter);
      if (!accept(TokenKind::Comma))
        break;
    }
    if (!expect(TokenKind::RightParen, typeHint()))
      return false;
    if (accept(TokenKind::Assign)) {
      function.result = parseExpression();
      accept(TokenKind::Semicolon);
      return function.result != nullptr;
    }
    if (!at(TokenKind::LeftBrace)) {
      expected("`=` or `{`");
      return false;
    }
    advance();
    function.isBlock = true;
    while (accept(TokenKind::Let)) {
      std::optional<Identifier> letName;
      const Expr *value = parseBinding(letName, "a name");
      if (!value)
        return false;
      accept(TokenKind::Semicolon);
      function.lets.push_back({*letName, value});
    }
    if (!at(TokenKind::Return)) {
      expected("`let` or `return`");
      return false;
    }
    advance();
    function.result = parseExpression();
    accept(TokenKind::Semicolon);
    return function.result && expect(TokenKind::RightBrace);
  }

  void parseRule() {
    Rule rule;
    rule.isTransform = at(TokenKind::Transform);
    rule.file = &file;
    advance();
    auto name = parseName(rule.isTransform ? "the name of a transform" : "the name of a rule");
    if (name)
      rule.name = *name;
    if (name && !rule.isTransform && accept(TokenKind::Assign)) {
      rule.chain = parseChain();
      accept(TokenKind::Semicolon);
      if (rule.chain.empty())
        return recoverToDeclaration();
    } else {
      bool valid = name && parseRuleHead(rule);
      if (!valid)
        recover({TokenKind::LeftBrace, TokenKind::Import, TokenKind::Fn, TokenKind::Rule,
                 TokenKind::Transform});
      if (accept(TokenKind::LeftBrace))
        parseRuleBody(rule);
      else if (valid)
        expected("`require` or `{`");
    }
    auto &rules = rule.isTransform ? file.transforms : file.rules;
    rules.push_back(std::move(rule));
  }

  bool parseRuleHead(Rule &rule) {
    if (!expect(
            TokenKind::LeftParen,
            at(TokenKind::LeftBrace)
                ? ("; write `" + rule.name.text + "()` where there are no hyperparameters").str()
                : ""))
      return false;
    while (!at(TokenKind::RightParen)) {
      bool isStatic = accept(TokenKind::Static);
      auto parameter = parseName("the name of a hyperparameter");
      bool lacksDefault = at(TokenKind::Comma) || at(TokenKind::RightParen);
      if (!parameter ||
          !expect(TokenKind::Assign,
                  lacksDefault ? "; every hyperparameter and flag has a default, as in `lr = 1e-3`"
                               : typeHint()))
        return false;
      const Expr *initial = parseExpression();
      if (!initial)
        return false;
      rule.parameters.push_back({*parameter, initial, isStatic});
      if (!accept(TokenKind::Comma))
        break;
    }
    if (!expect(TokenKind::RightParen))
      return false;
    while (accept(TokenKind::Require)) {
      const Expr *condition = parseExpression();
      if (!condition || !expect(TokenKind::Else, "; write `require condition else \"message\"`"))
        return false;
      const Expr *message = parseString("a message in quotes");
      if (!message)
        return false;
      rule.requirements.push_back({condition, message});
    }
    return true;
  }

  void parseRuleBody(Rule &rule) {
    while (!at(TokenKind::RightBrace) && !atDeclaration() && !diagnostics.isFull()) {
      bool valid;
      if (at(TokenKind::State)) {
        valid = parseState(rule);
      } else if (at(TokenKind::Update)) {
        valid = parseUpdate(rule.update, "update");
      } else if (at(TokenKind::Finish) && rule.isTransform) {
        valid = parseUpdate(rule.finish, "finish");
      } else if (at(TokenKind::Finish)) {
        expected("`state` or `update`");
        std::optional<Update> ignored;
        valid = parseUpdate(ignored, "finish");
      } else {
        StringRef hint =
            at(TokenKind::Require) ? "; requirements stand before the `{`"
            : at(TokenKind::Over)
                ? "; `over` stands behind the state's name, as in `state m over tensor = 0`"
                : "";
        expected(rule.isTransform ? "`state`, `update` or `finish`" : "`state` or `update`", hint);
        valid = false;
        advance();
      }
      if (!valid)
        recoverInBody();
    }
    if (!diagnostics.isFull())
      expect(TokenKind::RightBrace);
  }

  bool parseState(Rule &rule) {
    advance();
    State state{};
    auto name = parseName("the name of a state");
    if (!name)
      return false;
    state.name = *name;
    if (accept(TokenKind::Over) && !parseOver(state))
      return false;
    std::string form =
        at(TokenKind::Colon)
            ? "; the storage type stands behind the initial value, as in `state " +
                  state.name.text.str() + " = 0 : f32`"
            : "; a state has an initial value, as in `state " + state.name.text.str() + " = 0`";
    if (!expect(TokenKind::Assign, form))
      return false;
    state.initial = parseExpression();
    if (!state.initial)
      return false;
    if (accept(TokenKind::Colon) && !parseStorage(state))
      return false;
    if (accept(TokenKind::When)) {
      state.when = parseExpression();
      if (!state.when)
        return false;
    }
    accept(TokenKind::Semicolon);
    rule.states.push_back(state);
    return true;
  }

  bool parseOver(State &state) {
    state.over = parseName("`tensor`, `group`, `row` or `column`");
    if (!state.over)
      return false;
    StringRef over = state.over->text;
    if (over == "tensor" || over == "group" || over == "row" || over == "column")
      return true;
    diagnostics.report(DiagnosticKind::UnknownOver, state.over->range, over);
    state.over.reset();
    return true;
  }

  bool parseStorage(State &state) {
    auto type = parseName("a storage type, like `f32` or `bf16`");
    if (!type)
      return false;
    state.storage = parseStorageType(type->text);
    if (!state.storage)
      diagnostics.report(DiagnosticKind::UnknownStorageType, type->range, type->text,
                         llvm::join(storageTypeNames(), "`, `"));
    return true;
  }

  bool parseUpdate(std::optional<Update> &update, StringRef keyword) {
    if (update)
      diagnostics.report(DiagnosticKind::DuplicateUpdate, currentRange(), keyword);
    else
      update.emplace();
    update->range = currentRange();
    advance();
    if (!expect(TokenKind::LeftParen))
      return false;
    while (!at(TokenKind::RightParen)) {
      auto input = parseName("`param`, `grad`, `step` or `first`");
      if (!input)
        return false;
      update->inputs.push_back(*input);
      if (!accept(TokenKind::Comma))
        break;
    }
    if (!expect(TokenKind::RightParen) || !expect(TokenKind::LeftBrace))
      return false;
    while (!at(TokenKind::RightBrace) && !atDeclaration() && !diagnostics.isFull())
      if (!parseStatement(*update))
        recoverInUpdate();
    return expect(TokenKind::RightBrace);
  }

  std::string statementHint() const {
    StringRef word = currentRange().text();
    if (at(TokenKind::If))
      return "; an `if` chooses a value, as in `next param = if … then … else …`";
    if (word == "param")
      return "; write `next param = …`";
    if (at(TokenKind::Identifier))
      return ("; write `let " + word + " = …` for a value, or `next " + word + " = …` for a state")
          .str();
    return "";
  }

  bool parseStatement(Update &update) {
    Statement statement{};
    statement.name = {currentRange().text(), currentRange()};
    if (at(TokenKind::Skip) || at(TokenKind::Hold)) {
      statement.kind = at(TokenKind::Skip) ? StatementKind::Skip : StatementKind::Hold;
      advance();
      if (!expect(TokenKind::When))
        return false;
      statement.value = parseExpression();
    } else if (at(TokenKind::Let) || at(TokenKind::Next)) {
      statement.kind = at(TokenKind::Let) ? StatementKind::Let : StatementKind::Next;
      advance();
      std::optional<Identifier> name;
      statement.value = parseBinding(name, statement.kind == StatementKind::Next
                                               ? "`param` or the name of a state"
                                               : "a name");
      if (name)
        statement.name = *name;
    } else {
      expected("`let`, `next` or `skip`", statementHint());
      advance();
      return false;
    }
    if (!statement.value)
      return false;
    if (at(TokenKind::When)) {
      if (statement.kind != StatementKind::Next) {
        expected("`let`, `next` or `skip`");
        return false;
      }
      advance();
      statement.when = parseExpression();
      if (!statement.when)
        return false;
    }
    accept(TokenKind::Semicolon);
    update.statements.push_back(statement);
    return true;
  }
};
} // namespace

std::unique_ptr<ParsedFile> updraft::parseFile(std::shared_ptr<const SourceFile> source,
                                               DiagnosticEngine &diagnostics, bool goesOn) {
  auto file = std::make_unique<ParsedFile>();
  file->source = std::move(source);
  if (file->source->text().size() > maxFileSize) {
    diagnostics.report(DiagnosticKind::FileTooLarge, SourceRange{file->source.get(), 0, 0},
                       maxFileSize);
    return file;
  }
  // A word that was left out would only make wrong sentences.
  size_t before = diagnostics.diagnostics().size();
  Parser parser(*file, diagnostics);
  if (diagnostics.diagnostics().size() == before) {
    parser.run();
  } else if (goesOn) {
    DiagnosticEngine unused;
    Parser(*file, unused).run();
  }
  return file;
}

std::vector<StringRef> updraft::storageTypeNames() {
  std::vector<StringRef> names;
  for (const StorageType &type : storageTypes)
    names.push_back(type.name);
  return names;
}

std::optional<upd_dtype> updraft::parseStorageType(StringRef name) {
  for (const StorageType &type : storageTypes)
    if (type.name == name)
      return type.dtype;
  return std::nullopt;
}

StringRef updraft::storageTypeName(upd_dtype dtype) {
  for (const StorageType &type : storageTypes)
    if (type.dtype == dtype)
      return type.name;
  return "unknown";
}

const Expr *updraft::parseExpression(ParsedFile &file, DiagnosticEngine &diagnostics) {
  return ExpressionParser(file, diagnostics).parseWhole();
}

std::vector<StageCall> updraft::parseChain(ParsedFile &file, DiagnosticEngine &diagnostics) {
  return ChainParser(file, diagnostics).parseWholeChain();
}
