//===- LineBreaking.h - Breaks statements into lines --------------------------------*- C++ -*-===//
// Lays out one statement or clause on one line if it fits; otherwise breaks it at operators of the
// lowest precedence.

#ifndef UPDRAFT_LIB_FRONTEND_LINEBREAKING_H
#define UPDRAFT_LIB_FRONTEND_LINEBREAKING_H

#include "Words.h"

namespace updraft {

/// Returns the width of the text in columns.
unsigned widthOf(llvm::StringRef text);

/// Returns the words on one line.
std::string onOneLine(Words words);

/// Returns the index of the first word of this kind outside of parentheses and `if … then … else`,
/// or the number of words if there is none.
size_t findOutside(Words words, TokenKind kind);

/// Returns the words broken into lines. The first line starts at `column` and lacks its
/// indentation, the others have it. `reserve` columns stay free at the end of the last line.
std::vector<std::string> breakLines(Words words, unsigned column, unsigned reserve = 0);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_LINEBREAKING_H
