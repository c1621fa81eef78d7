//===- Token.h - The words of the language ------------------------------------------*- C++ -*-===//
// The lexer's output and the parser's input.

#ifndef UPDRAFT_FRONTEND_TOKEN_H
#define UPDRAFT_FRONTEND_TOKEN_H

#include "updraft/Support/Diagnostics.h"

#include <vector>

namespace updraft {

enum class TokenKind : uint8_t {
  End,
  Identifier,
  Number,
  String,
  // Keywords.
  Else,
  False,
  Finish,
  Fn,
  Hold,
  If,
  Import,
  Let,
  Next,
  Over,
  Probe,
  Repeat,
  Require,
  Return,
  Rule,
  Skip,
  State,
  Static,
  Then,
  Transform,
  True,
  Update,
  When,
  // Punctuation and operators.
  LeftParen,
  RightParen,
  LeftBrace,
  RightBrace,
  LeftBracket,
  RightBracket,
  Comma,
  Colon,
  Semicolon,
  Assign,
  Plus,
  Minus,
  Star,
  Slash,
  At,
  Caret,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
  Not,
  Pipe,
};

struct Token {
  TokenKind kind;
  uint32_t begin;
  uint32_t end;
  double number = 0; ///< the value of a Number
};

/// The name of a kind of token in messages: "`let`", "a name", "the end of the file".
llvm::StringRef describe(TokenKind kind);

/// Reports the first byte that files may not contain, even in comments and strings. Files are UTF-8
/// without control characters, except tabs and line ends (LF or CR LF).
void checkText(const SourceFile &file, DiagnosticEngine &diagnostics);

/// Returns the tokens of a file, followed by an End token. Checks the text; reports and skips
/// invalid tokens. Skips comments, from `//` to the end of the line, and stores them in `comments`
/// if given.
std::vector<Token> lex(const SourceFile &file, DiagnosticEngine &diagnostics,
                       std::vector<SourceRange> *comments = nullptr);

/// Whether `text` is a keyword of the language.
bool isKeyword(llvm::StringRef text);

/// Every keyword, in alphabetical order.
std::vector<llvm::StringRef> keywords();

} // namespace updraft

#endif // UPDRAFT_FRONTEND_TOKEN_H
