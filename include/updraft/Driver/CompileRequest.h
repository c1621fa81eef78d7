//===- CompileRequest.h - What is to be compiled ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_COMPILEREQUEST_H
#define UPDRAFT_DRIVER_COMPILEREQUEST_H

#include "updraft/Frontend/Frontend.h"
#include "updraft/Target/CPUTarget.h"
#include "updraft/Target/GPUTarget.h"

#include <optional>
#include <string>

namespace updraft {

/// How a compilation can be looked into. Decides nothing about what is computed.
struct Inspection {
  bool printLocations = false; // emitted text says which place of the rule each operation is from
  bool lineTables = false;     // machine code has line tables (DWARF) of the rule's text
  std::string dumpFolder;      // gets the module after every pass; empty: none
};

/// One rule of one source text, for one target.
struct CompileRequest {
  std::string source;
  std::string filename; // for messages; imports are looked for beside it
  /// What a generated source was made from, for messages and locations; null if it was written.
  std::shared_ptr<const SourceMap> origins;
  RuleRequest rule;
  CPUTarget target;
  std::optional<GPUTarget> gpu; // runs the steps; what is left to the host is for `target`
  Inspection inspection;

  /// A name that `CPUTarget` or `GPUTarget` knows.
  llvm::Error setTarget(llvm::StringRef name);
};

/// The error for a target that is none: which of `known` may have been meant, or `otherwise`.
llvm::Error unknownTarget(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known,
                          llvm::Error otherwise);

/// The bytes of a rule file; "-" is the standard input. Reads no more than one byte beyond the
/// longest file that the language allows, so a device that never ends is refused like a long file.
/// UPD_NOT_FOUND if there is no such file, else UPD_IO_ERROR.
llvm::Expected<std::string> readRuleFile(llvm::StringRef path);

} // namespace updraft

#endif // UPDRAFT_DRIVER_COMPILEREQUEST_H
