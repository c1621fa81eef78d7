//===- LineBreaking.h - Words on as few lines as fit --------------------------------*- C++ -*-===//
// Lays out one statement or clause: on one line where it fits, else broken at what binds its words
// the least.

#ifndef UPDRAFT_LIB_FRONTEND_LINEBREAKING_H
#define UPDRAFT_LIB_FRONTEND_LINEBREAKING_H

#include "Words.h"

namespace updraft {

/// How many columns the text takes.
unsigned widthOf(llvm::StringRef text);

/// The words on one line.
std::string onOneLine(Words words);

/// The first of the words, outside of parentheses and of `if … then … else`, that is of this kind;
/// their number if there is none.
size_t findOutside(Words words, TokenKind kind);

/// The words on lines. The first line starts at `column` and comes without its indentation, the
/// others with it. `reserve` columns stay free at the end of the last.
std::vector<std::string> breakLines(Words words, unsigned column, unsigned reserve = 0);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_LINEBREAKING_H
