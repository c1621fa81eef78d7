//===- Program.h - A checked file with what it imports ------------------------------*- C++ -*-===//
// What parseProgram makes and importRule reads. Immutable, so it may be shared between threads.

#ifndef UPDRAFT_FRONTEND_PROGRAM_H
#define UPDRAFT_FRONTEND_PROGRAM_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

namespace updraft {

struct Program {
  /// The main file first, then the imported ones in the order in which they are met.
  std::vector<std::unique_ptr<ParsedFile>> parsed;
  std::vector<std::shared_ptr<const SourceFile>> texts;

  const ParsedFile &main() const { return *parsed.front(); }
  /// The text of the main file and of all that it imports: what the result depends on.
  const std::vector<std::shared_ptr<const SourceFile>> &files() const { return texts; }
  /// The rules of the main file, in order.
  std::vector<llvm::StringRef> ruleNames() const;
};

} // namespace updraft

#endif // UPDRAFT_FRONTEND_PROGRAM_H
