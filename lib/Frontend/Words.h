//===- Words.h - Tokens with the comments around them -------------------------------*- C++ -*-===//
// What the formatter lays out: the words of a file, with the comments and blank lines between them.

#ifndef UPDRAFT_LIB_FRONTEND_WORDS_H
#define UPDRAFT_LIB_FRONTEND_WORDS_H

#include "updraft/Frontend/Token.h"

namespace updraft {

struct CommentLine {
  llvm::StringRef text;
  bool blankAbove; ///< a blank line was between it and what is before
};

struct Word {
  TokenKind kind;
  llvm::StringRef text;
  std::vector<CommentLine> above; ///< on lines of their own
  llvm::StringRef beside;         ///< after it on its line, or empty
  bool blankAbove;                ///< between it and what is before, its comments included
  bool startsLine;
};

using Words = llvm::ArrayRef<Word>;

/// The words of a file, an End word last, without what may be left out: semicolons, and commas
/// before a closing parenthesis.
std::vector<Word> splitWords(const SourceFile &file, DiagnosticEngine &diagnostics);

/// Whether the word starts a declaration, a statement, or a clause of a rule.
bool startsItem(TokenKind kind);

/// All words and comments in order, as far as they mean anything: what formatting preserves.
std::vector<llvm::StringRef> contentOf(Words words);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_WORDS_H
