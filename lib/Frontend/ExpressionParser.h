//===- ExpressionParser.h - Reading tokens and parsing expressions ------------------*- C++ -*-===//
// Implements the cursor over a file's tokens and the expression grammar by precedence. The parser
// of declarations derives from it.

#ifndef UPDRAFT_LIB_FRONTEND_EXPRESSIONPARSER_H
#define UPDRAFT_LIB_FRONTEND_EXPRESSIONPARSER_H

#include "updraft/Frontend/Parser.h"
#include "updraft/Frontend/Token.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace updraft {

class ExpressionParser {
public:
  ExpressionParser(ParsedFile &file, DiagnosticEngine &diagnostics)
      : file(file), diagnostics(diagnostics), tokens(lex(*file.source, diagnostics)) {}

  /// Parses the whole text as one expression.
  const Expr *parseWhole();

protected:
  const Token &current() const { return tokens[position]; }
  bool at(TokenKind kind) const { return current().kind == kind; }
  bool isFollowedBy(TokenKind kind) const {
    return position + 1 < tokens.size() && tokens[position + 1].kind == kind;
  }
  SourceRange previousRange() const {
    return {file.source.get(), tokens[position - 1].begin, tokens[position - 1].end};
  }
  SourceRange currentRange() const { return {file.source.get(), current().begin, current().end}; }
  void advance() {
    if (!at(TokenKind::End))
      ++position;
  }
  bool accept(TokenKind kind) {
    if (!at(kind))
      return false;
    advance();
    return true;
  }
  /// Makes messages refer to the end of the text as the end of the value.
  void beWhole() { isWhole = true; }
  /// Accepts a token of this kind, or reports the token that was found instead.
  bool expect(TokenKind kind, llvm::StringRef hint = "");
  void expected(llvm::StringRef what, llvm::StringRef hint = "");
  /// Whether the last such report was about the current token.
  bool atUnexpected() const { return position == lastUnexpected; }
  void expectedOneOf(llvm::ArrayRef<TokenKind> kinds, llvm::StringRef hint = "");
  /// Parses the rest of a list after the `(` or `[`. Calls `parseItem` for each item, which returns
  /// false after reporting an error.
  bool parseList(llvm::function_ref<bool()> parseItem, TokenKind close = TokenKind::RightParen);
  /// A hint for types in the syntax of other languages.
  llvm::StringRef typeHint() const { return at(TokenKind::Colon) ? "; types are inferred" : ""; }

  // These return null after reporting an error.
  const Expr *parseExpression();
  const Expr *parseOperand();

  ParsedFile &file;
  DiagnosticEngine &diagnostics;

private:
  const Expr *parseBinary(unsigned minimumPrecedence);
  const Expr *parsePrefix();
  const Expr *parsePower();
  const Expr *parseParentheses();
  const Expr *parseElements(Expr expr, TokenKind close, const Expr *first = nullptr);
  const Expr *parseIf();
  const Expr *parseCall(SourceRange name);
  bool enter();
  /// Reports words that other languages use for `!`, `&&` and `||`.
  bool isForeignOperator();
  const Expr *make(Expr expr, llvm::ArrayRef<const Expr *> operands);

  std::vector<Token> tokens;
  size_t position = 0;
  size_t lastUnexpected = SIZE_MAX; ///< the position of the last unexpected token
  unsigned nesting = 0;
  /// Whether the text is one value instead of a file.
  bool isWhole = false;
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_EXPRESSIONPARSER_H
