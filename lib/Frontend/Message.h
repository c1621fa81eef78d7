//===- Message.h - The messages of requirements -------------------------------------*- C++ -*-===//
// Splits "Invalid learning rate: {lr}" into text and names.

#ifndef UPDRAFT_LIB_FRONTEND_MESSAGE_H
#define UPDRAFT_LIB_FRONTEND_MESSAGE_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

namespace updraft {

struct MessagePiece {
  bool isName;
  std::string text; ///< text with its doubled braces made single, or the name
};

/// The pieces of a message, or nothing where a brace stands alone.
std::optional<std::vector<MessagePiece>> splitMessage(const Expr &message);

/// `text` with its braces doubled.
std::string escapeBraces(llvm::StringRef text);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_MESSAGE_H
