//===- Token.h - The words of the language ------------------------------------------*- C++ -*-===//
// What the lexer makes of a file's bytes and the parser reads.

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
  Comma,
  Colon,
  Semicolon,
  Assign,
  Plus,
  Minus,
  Star,
  Slash,
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

/// How a message names a kind of token: "`let`", "a name", "the end of the file".
llvm::StringRef describe(TokenKind kind);

/// Reports the first byte that a file may not contain, not even in comments and strings. A file is
/// UTF-8 without control characters, except tabs and ends of lines (LF or CR LF).
void checkText(const SourceFile &file, DiagnosticEngine &diagnostics);

/// The tokens of a file, ended by an End token. Checks the text, reports what is no token, and
/// leaves it out. The comments, from `//` to the end of the line, are no tokens; they go to
/// `comments` if it is given.
std::vector<Token> lex(const SourceFile &file, DiagnosticEngine &diagnostics,
                       std::vector<SourceRange> *comments = nullptr);

/// Whether `text` is a keyword of the language.
bool isKeyword(llvm::StringRef text);

/// Every keyword, in alphabetical order.
std::vector<llvm::StringRef> keywords();

} // namespace updraft

#endif // UPDRAFT_FRONTEND_TOKEN_H
