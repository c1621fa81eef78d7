//===- Program.h - A checked file and its imports -----------------------------------*- C++ -*-===//
// The output of parseProgram and input of importRule. Immutable, so threads may share it.

#ifndef UPDRAFT_FRONTEND_PROGRAM_H
#define UPDRAFT_FRONTEND_PROGRAM_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

#include <map>

namespace updraft {

struct Program {
  /// The main file, then the imported files in the order in which they were found.
  std::vector<std::unique_ptr<ParsedFile>> parsed;
  std::vector<std::shared_ptr<const SourceFile>> texts;
  /// The path of each file's first import, between its quotes.
  std::map<const SourceFile *, SourceRange> importedAt;

  const ParsedFile &main() const { return *parsed.front(); }
  /// The texts of the main file and of all imports: everything that the result depends on.
  const std::vector<std::shared_ptr<const SourceFile>> &files() const { return texts; }
  /// The rules of the main file, in order.
  std::vector<llvm::StringRef> ruleNames() const;

  /// Adds notes to the diagnostics from index `since` on that show how the main file imports the
  /// file with the error. Skips diagnostics that already have a note about the main file.
  void noteImports(DiagnosticEngine &diagnostics, size_t since) const;
};

} // namespace updraft

#endif // UPDRAFT_FRONTEND_PROGRAM_H
