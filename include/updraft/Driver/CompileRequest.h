//===- CompileRequest.h - The input of a compilation --------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_COMPILEREQUEST_H
#define UPDRAFT_DRIVER_COMPILEREQUEST_H

#include "updraft/Frontend/Frontend.h"
#include "updraft/Target/CPUTarget.h"
#include "updraft/Target/GPUTarget.h"

#include <optional>
#include <string>

namespace updraft {

/// Options to inspect a compilation. They don't change the computed results.
struct Inspection {
  bool printLocations = false; // emitted text has each operation's location in the rule
  bool lineTables = false;     // machine code has line tables (DWARF) of the rule's text
  std::string dumpFolder;      // receives the module after every pass; empty: none
};

/// How a C program refers to a rule that is linked into it (updraft-c/linked_rule.h).
struct LinkRequest {
  std::string name;                 // the start of the names in the program; empty: not linked
  std::vector<std::string> targets; // for Stage::Header: those whose objects are linked
};

/// One rule of one source text, for one target.
struct CompileRequest {
  std::string source;
  std::string filename; // for messages; imports are looked up beside it
  /// Maps a generated source to its originals, for messages and locations; null if it was written.
  std::shared_ptr<const SourceMap> origins;
  RuleRequest rule;
  CPUTarget target;
  std::optional<GPUTarget> gpu; // runs the steps; `target` then runs the host's part
  bool inOneObject = false;     // never an archive of several objects
  Inspection inspection;
  LinkRequest link; // used by `Compiler::emit` only

  /// Sets the target from a name that `CPUTarget` or `GPUTarget` knows.
  llvm::Error setTarget(llvm::StringRef name);
};

/// Returns the error for an unknown target: suggests the nearest of `known`, or returns
/// `otherwise`.
llvm::Error unknownTarget(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known,
                          llvm::Error otherwise);

/// Returns the bytes of a rule file; "-" is the standard input. Reads at most one byte more than
/// the language allows, so an endless device is rejected like a file that is too long. Returns
/// UPD_NOT_FOUND if there is no such file, else UPD_IO_ERROR.
llvm::Expected<std::string> readRuleFile(llvm::StringRef path);

} // namespace updraft

#endif // UPDRAFT_DRIVER_COMPILEREQUEST_H
