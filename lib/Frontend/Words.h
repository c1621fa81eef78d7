//===- Words.h - Tokens with the comments around them -------------------------------*- C++ -*-===//
// The formatter's input: the words of a file, with the comments and blank lines between them.

#ifndef UPDRAFT_LIB_FRONTEND_WORDS_H
#define UPDRAFT_LIB_FRONTEND_WORDS_H

#include "updraft/Frontend/Token.h"

namespace updraft {

struct CommentLine {
  llvm::StringRef text;
  bool blankAbove; ///< whether a blank line precedes it
};

struct Word {
  TokenKind kind;
  llvm::StringRef text;
  std::vector<CommentLine> above; ///< on separate lines
  llvm::StringRef beside;         ///< after the word on its line, or empty
  bool blankAbove;                ///< whether a blank line precedes the word and its comments
  bool startsLine;
};

using Words = llvm::ArrayRef<Word>;

/// Returns the words of a file, followed by an End word. Omits optional words: semicolons, and
/// commas before a closing parenthesis.
std::vector<Word> splitWords(const SourceFile &file, DiagnosticEngine &diagnostics);

/// Whether the word starts a declaration, a statement, or a clause of a rule.
bool startsItem(TokenKind kind);

/// Returns all significant words and comments in order, which formatting must preserve.
std::vector<llvm::StringRef> contentOf(Words words);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_WORDS_H
