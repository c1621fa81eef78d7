//===- Parser.cpp - Declarations and statements -----------------------------------------------===//
// A recursive-descent parser. After an error it continues at the next token that starts a statement
// or a declaration, so one run reports several mistakes. Expressions are in ExpressionParser.cpp.

#include "updraft/Frontend/Parser.h"

#include "ChainParser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/StringSaver.h"

using namespace updraft;
using llvm::StringRef;

namespace {
// The tokens that start items of a file, a body or an update.
constexpr TokenKind declarationStarts[] = {TokenKind::Rule, TokenKind::Transform, TokenKind::Fn,
                                           TokenKind::Import};
constexpr TokenKind bodyStarts[] = {TokenKind::State, TokenKind::Update, TokenKind::Finish};
constexpr TokenKind statementStarts[] = {TokenKind::Let,   TokenKind::Next, TokenKind::Repeat,
                                         TokenKind::Probe, TokenKind::Skip, TokenKind::Hold};

/// Only a transform can have `finish`.
llvm::ArrayRef<TokenKind> startsInBody(const Rule &rule) {
  return llvm::ArrayRef(bodyStarts).drop_back(rule.isTransform ? 0 : 1);
}
/// Only a transform can `hold`.
llvm::ArrayRef<TokenKind> startsInUpdate(const Rule &rule) {
  return llvm::ArrayRef(statementStarts).drop_back(rule.isTransform ? 0 : 1);
}

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
        expectedOneOf(declarationStarts,
                      currentRange().text() == "def" ? "; a function is declared with `fn`" : "");
        recoverToDeclaration();
      }
    }
  }

private:
  // Skips to one of the kinds, to a declaration or to the end of the file. Skips a block in braces
  // as a whole, because it belongs to the error. With `endsAtBlock`, stops after the block.
  void recover(llvm::ArrayRef<TokenKind> kinds, bool endsAtBlock = false) {
    for (unsigned open = 0; !atDeclaration(); advance()) {
      if (open == 0 && (atUnexpected() ? startsOneOf(kinds) : isOneOf(kinds)))
        return;
      if (at(TokenKind::LeftBrace)) {
        ++open;
      } else if (at(TokenKind::RightBrace) && open > 0) {
        --open;
        if (open == 0 && endsAtBlock) {
          advance();
          return;
        }
      }
    }
  }
  void recoverToDeclaration() { recover({}); }
  void recoverInBody() {
    recover({TokenKind::State, TokenKind::Update, TokenKind::Finish, TokenKind::RightBrace},
            /*endsAtBlock=*/true);
  }
  void recoverInUpdate() {
    recover({TokenKind::Let, TokenKind::Next, TokenKind::Repeat, TokenKind::Probe, TokenKind::Skip,
             TokenKind::Hold, TokenKind::State, TokenKind::Update, TokenKind::Finish,
             TokenKind::RightBrace});
  }
  bool isOneOf(llvm::ArrayRef<TokenKind> kinds) const {
    return llvm::is_contained(kinds, current().kind);
  }
  // A keyword in place of a name starts nothing.
  bool startsOneOf(llvm::ArrayRef<TokenKind> kinds) const {
    if (!isOneOf(kinds))
      return false;
    switch (current().kind) {
    case TokenKind::Import:
      return isFollowedBy(TokenKind::String);
    case TokenKind::Fn:
    case TokenKind::Rule:
    case TokenKind::Transform:
    case TokenKind::State:
    case TokenKind::Let:
    case TokenKind::Next:
    case TokenKind::Repeat:
    case TokenKind::Probe:
      return isFollowedBy(TokenKind::Identifier);
    case TokenKind::Update:
    case TokenKind::Finish:
      return isFollowedBy(TokenKind::LeftParen);
    case TokenKind::Skip:
    case TokenKind::Hold:
      return isFollowedBy(TokenKind::When);
    default:
      return true;
    }
  }
  bool atDeclaration() const { return at(TokenKind::End) || startsOneOf(declarationStarts); }

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

  // name = expression; returns null after an error.
  const Expr *parseBinding(std::optional<Identifier> &name, StringRef what) {
    name = parseName(what);
    if (!name || !expect(TokenKind::Assign, name ? assignmentHint(name->text) : ""))
      return nullptr;
    return parseExpression();
  }

  // A hint for `next param -= …` from other languages.
  std::string assignmentHint(StringRef name) const {
    bool isOperator = at(TokenKind::Plus) || at(TokenKind::Minus) || at(TokenKind::Star) ||
                      at(TokenKind::Slash) || at(TokenKind::At);
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

  // Parses names in parentheses, after the opening one.
  bool parseNames(std::vector<Identifier> &names, StringRef what) {
    return parseList([&] {
      auto name = parseName(what);
      if (name)
        names.push_back(*name);
      return name.has_value();
    });
  }

  bool parseFunctionParts(Function &function) {
    advance();
    auto name = parseName("the name of a function");
    if (!name || !expect(TokenKind::LeftParen))
      return false;
    function.name = *name;
    if (!parseNames(function.parameters, "the name of a parameter"))
      return false;
    if (accept(TokenKind::Assign)) {
      function.result = parseExpression();
      accept(TokenKind::Semicolon);
      return function.result != nullptr;
    }
    if (!at(TokenKind::LeftBrace)) {
      expectedOneOf({TokenKind::Assign, TokenKind::LeftBrace});
      return false;
    }
    advance();
    function.isBlock = true;
    if (!parseLets(function.lets))
      return false;
    if (!at(TokenKind::Return)) {
      expectedOneOf({TokenKind::Let, TokenKind::Repeat, TokenKind::Return});
      return false;
    }
    advance();
    function.result = parseExpression();
    accept(TokenKind::Semicolon);
    return function.result && expect(TokenKind::RightBrace);
  }

  // Parses `let` and `repeat` statements up to another one.
  bool parseLets(std::vector<Let> &lets) {
    while (at(TokenKind::Let) || at(TokenKind::Repeat)) {
      if (at(TokenKind::Repeat)) {
        const Repeat *repeat = parseRepeat();
        if (!repeat)
          return false;
        lets.push_back({{}, nullptr, repeat});
        continue;
      }
      advance();
      std::optional<Identifier> name;
      const Expr *value = parseBinding(name, "a name");
      if (!value)
        return false;
      accept(TokenKind::Semicolon);
      lets.push_back({*name, value});
    }
    return true;
  }

  // Accepts a word that has a meaning only here.
  bool expectWord(StringRef word) {
    if (at(TokenKind::Identifier) && currentRange().text() == word) {
      advance();
      return true;
    }
    expected(("`" + word + "`").str());
    return false;
  }

  // Returns null after reporting an error.
  const Repeat *parseRepeat() {
    Repeat repeat;
    repeat.range = currentRange();
    llvm::scope_exit leave([this] { --repeatDepth; });
    if (++repeatDepth > maxRepeatDepth) {
      diagnostics.report(DiagnosticKind::RepeatTooDeep, repeat.range, maxRepeatDepth);
      return nullptr;
    }
    do {
      advance();
      std::optional<Identifier> name;
      const Expr *value = parseBinding(name, "the name of a value that is computed again");
      if (!value)
        return nullptr;
      repeat.variables.push_back({*name, value});
    } while (at(TokenKind::Comma));
    if (!expectWord("for"))
      return nullptr;
    repeat.isTuple = accept(TokenKind::LeftParen);
    if (repeat.isTuple && at(TokenKind::RightParen)) {
      expected("a name for a part of the list's elements");
      return nullptr;
    }
    if (repeat.isTuple) {
      if (!parseNames(repeat.items, "a name for a part of the list's elements"))
        return nullptr;
    } else if (auto name = parseName("a name for the list's elements")) {
      repeat.items.push_back(*name);
    } else {
      return nullptr;
    }
    if (!expectWord("in"))
      return nullptr;
    repeat.list = parseExpression();
    if (!repeat.list || !expect(TokenKind::LeftBrace))
      return nullptr;
    if (!parseLets(repeat.lets) || !parseRepeatNexts(repeat)) {
      skipBlock();
      return nullptr;
    }
    return &file.repeats.emplace_back(std::move(repeat));
  }

  bool parseRepeatNexts(Repeat &repeat) {
    while (accept(TokenKind::Next)) {
      std::optional<Identifier> name;
      const Expr *value = parseBinding(name, "the name of a value that is computed again");
      if (!value)
        return false;
      accept(TokenKind::Semicolon);
      repeat.nexts.push_back({*name, value});
    }
    if (accept(TokenKind::RightBrace))
      return true;
    if (repeat.nexts.empty())
      expectedOneOf({TokenKind::Let, TokenKind::Repeat, TokenKind::Next, TokenKind::RightBrace});
    else
      expectedOneOf({TokenKind::Next, TokenKind::RightBrace});
    return false;
  }

  // Skips the rest of a block whose `{` was accepted.
  void skipBlock() {
    for (unsigned open = 1; open > 0 && !atDeclaration(); advance()) {
      open += at(TokenKind::LeftBrace);
      open -= at(TokenKind::RightBrace);
    }
  }

  // Enters a block after its head, which may have an error. The brace may be missing before the
  // contents of the block.
  bool enterBlock(bool isHeadValid, llvm::ArrayRef<TokenKind> starts,
                  llvm::ArrayRef<TokenKind> stops) {
    if (isHeadValid && startsOneOf(starts))
      return true;
    recover(stops);
    return accept(TokenKind::LeftBrace);
  }

  void parseRule() {
    Rule rule;
    rule.isTransform = at(TokenKind::Transform);
    rule.file = &file;
    advance();
    // A rule without a name also needs a location.
    rule.name.range = {file.source.get(), current().begin, current().begin};
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
      if (valid && !at(TokenKind::LeftBrace))
        expectedOneOf({TokenKind::Require, TokenKind::LeftBrace});
      if (enterBlock(valid, bodyStarts, {TokenKind::LeftBrace}))
        parseRuleBody(rule);
    }
    auto &rules = rule.isTransform ? file.transforms : file.rules;
    rules.push_back(std::move(rule));
  }

  bool parseParameter(Rule &rule) {
    bool isStatic = accept(TokenKind::Static);
    auto parameter = parseName("the name of a hyperparameter");
    bool lacksDefault = at(TokenKind::Comma) || at(TokenKind::RightParen);
    if (!parameter ||
        !expect(TokenKind::Assign,
                lacksDefault ? "; every hyperparameter and flag has a default, as in `lr = 1e-3`"
                             : typeHint()))
      return false;
    const Expr *initial = parseExpression();
    if (initial)
      rule.parameters.push_back({*parameter, initial, isStatic});
    return initial != nullptr;
  }

  bool parseRuleHead(Rule &rule) {
    if (!accept(TokenKind::LeftParen)) {
      std::string hint =
          at(TokenKind::LeftBrace)
              ? ("; write `" + rule.name.text + "()` where there are no hyperparameters").str()
              : "";
      // `rule name = …` is a chain.
      expectedOneOf(llvm::ArrayRef({TokenKind::LeftParen, TokenKind::Assign})
                        .drop_back(rule.isTransform ? 1 : 0),
                    hint);
      return false;
    }
    if (!parseList([&] { return parseParameter(rule); }))
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
        valid = parseUpdate(rule, rule.update);
      } else if (at(TokenKind::Finish) && rule.isTransform) {
        valid = parseUpdate(rule, rule.finish);
      } else if (at(TokenKind::Finish)) {
        expectedOneOf(startsInBody(rule));
        std::optional<Update> ignored;
        valid = parseUpdate(rule, ignored);
      } else {
        StringRef hint =
            at(TokenKind::Require) ? "; requirements stand before the `{`"
            : at(TokenKind::Over)
                ? "; `over` stands behind the state's name, as in `state m over tensor = 0`"
                : "";
        expectedOneOf(startsInBody(rule), hint);
        valid = false;
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
    if (!accept(TokenKind::Assign)) {
      expectedOneOf(
          llvm::ArrayRef({TokenKind::Assign, TokenKind::Over}).drop_back(state.over ? 1 : 0), form);
      return false;
    }
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
    if (at(TokenKind::LeftParen))
      state.over = parseSquare();
    else
      state.over = parseName(quotedList(overNames(), "or"));
    if (!state.over)
      return false;
    StringRef over = state.over->text;
    if (llvm::is_contained(overNames(), over))
      return true;
    diagnostics.report(DiagnosticKind::UnknownOver, state.over->range, over,
                       quotedList(overNames(), "or"));
    state.over.reset();
    return true;
  }

  /// Parses `(row, row)` to an identifier with this text, whatever the blanks in the file.
  std::optional<Identifier> parseSquare() {
    SourceRange open = currentRange();
    advance();
    auto down = parseName("`row` or `column`");
    if (!down || !expect(TokenKind::Comma))
      return std::nullopt;
    auto along = parseName("`row` or `column`");
    SourceRange close = currentRange();
    if (!along || !expect(TokenKind::RightParen))
      return std::nullopt;
    std::string text = ("(" + down->text + ", " + along->text + ")").str();
    return Identifier{llvm::StringSaver(file.arena).save(text), open.to(close)};
  }

  bool parseStorage(State &state) {
    auto type = parseName("a storage type, like `f32` or `bf16`");
    if (!type)
      return false;
    state.storage = parseStorageType(type->text);
    if (!state.storage)
      diagnostics.report(DiagnosticKind::UnknownStorageType, type->range, type->text,
                         "`" + llvm::join(storageTypeNames(), "`, `") + "`");
    return true;
  }

  bool parseUpdate(Rule &rule, std::optional<Update> &update) {
    if (update)
      diagnostics.report(DiagnosticKind::DuplicateUpdate, currentRange(),
                         rule.isTransform ? "transform" : "rule", currentRange().text());
    else
      update.emplace();
    update->range = currentRange();
    advance();
    bool valid = expect(TokenKind::LeftParen) &&
                 parseNames(update->inputs, quotedList(updateInputs(rule.isTransform), "or"));
    if (valid && !at(TokenKind::LeftBrace))
      expected(describe(TokenKind::LeftBrace));
    if (!enterBlock(valid, statementStarts, {TokenKind::LeftBrace, TokenKind::RightBrace}))
      return false;
    while (!at(TokenKind::RightBrace) && !atDeclaration() && !startsOneOf(bodyStarts) &&
           !diagnostics.isFull())
      if (!parseStatement(rule, *update))
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

  bool parseStatement(const Rule &rule, Update &update) {
    Statement statement{};
    statement.name = {currentRange().text(), currentRange()};
    if (at(TokenKind::Repeat)) {
      statement.kind = StatementKind::Repeat;
      statement.repeat = parseRepeat();
      if (statement.repeat)
        update.statements.push_back(statement);
      return statement.repeat != nullptr;
    }
    if (at(TokenKind::Skip) || at(TokenKind::Hold)) {
      statement.kind = at(TokenKind::Skip) ? StatementKind::Skip : StatementKind::Hold;
      advance();
      if (!expect(TokenKind::When))
        return false;
      statement.value = parseExpression();
    } else if (at(TokenKind::Let) || at(TokenKind::Next) || at(TokenKind::Probe)) {
      statement.kind = at(TokenKind::Let)    ? StatementKind::Let
                       : at(TokenKind::Next) ? StatementKind::Next
                                             : StatementKind::Probe;
      advance();
      std::optional<Identifier> name;
      statement.value =
          parseBinding(name, statement.kind != StatementKind::Next ? "a name"
                             : rule.isTransform ? "`param`, `grad` or the name of a state"
                                                : "`param` or the name of a state");
      if (name)
        statement.name = *name;
    } else {
      expectedOneOf(startsInUpdate(rule), statementHint());
      return false;
    }
    if (!statement.value)
      return false;
    if (at(TokenKind::When)) {
      if (statement.kind != StatementKind::Next) {
        expectedOneOf(startsInUpdate(rule));
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

  unsigned repeatDepth = 0;
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
  // Skipping invalid tokens would only cause further errors.
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

llvm::ArrayRef<StringRef> updraft::updateInputs(bool isTransform) {
  static constexpr StringRef names[] = {"param", "grad", "step", "first", "new_param"};
  return llvm::ArrayRef(names).drop_back(isTransform ? 0 : 1);
}

llvm::ArrayRef<StringRef> updraft::overNames() {
  static constexpr StringRef names[] = {"tensor", "group",      "row",
                                        "column", "(row, row)", "(column, column)"};
  return names;
}

const Expr *updraft::parseExpression(ParsedFile &file, DiagnosticEngine &diagnostics) {
  return ExpressionParser(file, diagnostics).parseWhole();
}

std::vector<StageCall> updraft::parseChain(ParsedFile &file, DiagnosticEngine &diagnostics) {
  return ChainParser(file, diagnostics).parseWholeChain();
}
