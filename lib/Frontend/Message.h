//===- Message.h - The messages of requirements -------------------------------------*- C++ -*-===//
// Splits "Invalid learning rate: {lr}" into text and names.

#ifndef UPDRAFT_LIB_FRONTEND_MESSAGE_H
#define UPDRAFT_LIB_FRONTEND_MESSAGE_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

namespace updraft {

struct MessagePiece {
  bool isName;
  std::string text; ///< text with single instead of doubled braces, or the name
};

/// Returns the pieces of a message, or nothing if it has an unpaired brace.
std::optional<std::vector<MessagePiece>> splitMessage(const Expr &message);

/// Returns `text` with its braces doubled.
std::string escapeBraces(llvm::StringRef text);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_MESSAGE_H
