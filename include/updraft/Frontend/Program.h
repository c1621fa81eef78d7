//===- Program.h - A checked file with what it imports ------------------------------*- C++ -*-===//
// What parseProgram makes and importRule reads. Immutable, so it may be shared between threads.

#ifndef UPDRAFT_FRONTEND_PROGRAM_H
#define UPDRAFT_FRONTEND_PROGRAM_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

#include <map>

namespace updraft {

struct Program {
  /// The main file first, then the imported ones in the order in which they are met.
  std::vector<std::unique_ptr<ParsedFile>> parsed;
  std::vector<std::shared_ptr<const SourceFile>> texts;
  /// Where each imported file is first imported: the path between its quotes.
  std::map<const SourceFile *, SourceRange> importedAt;

  const ParsedFile &main() const { return *parsed.front(); }
  /// The text of the main file and of all that it imports: what the result depends on.
  const std::vector<std::shared_ptr<const SourceFile>> &files() const { return texts; }
  /// The rules of the main file, in order.
  std::vector<llvm::StringRef> ruleNames() const;

  /// Adds notes to the diagnostics from index `since` on: how the main file comes to import the
  /// file with the error. Leaves out diagnostics that already have a note about the main file.
  void noteImports(DiagnosticEngine &diagnostics, size_t since) const;
};

} // namespace updraft

#endif // UPDRAFT_FRONTEND_PROGRAM_H
