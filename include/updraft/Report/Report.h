//===- Report.h - Shows how a rule was compiled -------------------------------------*- C++ -*-===//
// A report is one JSON document (docs/report-format.md), and a page that shows it.

#ifndef UPDRAFT_REPORT_REPORT_H
#define UPDRAFT_REPORT_REPORT_H

#include "updraft/Driver/Compiler.h"

namespace updraft {

struct ReportRequest {
  CompileRequest rule;
  std::optional<GPUTarget> alsoFor; // adds the stages of a GPU to those of a CPU
  bool measureMemory = false;       // measures this machine's memory, for a tenth of a second

  /// Sets `alsoFor` from a name that GPUTarget knows; `rule` has its target.
  llvm::Error setAlsoFor(llvm::StringRef name);
};

/// Compiles the rule and returns the document.
llvm::Expected<std::string> makeReport(Compiler &compiler, const ReportRequest &request);

/// A file with the probes of one process (docs/probes.md).
struct RunFile {
  std::string name; ///< for messages and the page
  std::string text;
};

/// Returns the document, which is one, with what a run reported. An error has the place in a file.
llvm::Expected<std::string> withRun(llvm::StringRef document, llvm::ArrayRef<RunFile> files);

/// Returns the page of a document. With `other`, a second document, also shows what changed.
std::string reportPage(llvm::StringRef document, llvm::StringRef other = "");

/// Returns the document that a page, or a file with the document alone, contains.
llvm::Expected<std::string> documentIn(llvm::StringRef content);

/// Returns the folder that UPDRAFT_REPORT names, or "". Every compilation of the process leaves a
/// page there, and rules are not taken from the disk cache.
std::string reportFolderOfEnvironment();

/// Compiles the rule again and writes its page to `folder`, as RULE-KEY.html. In a process of a
/// distributed program, which has the environment variable RANK, the name ends in `-rankN`.
llvm::Error leaveReport(Compiler &compiler, const CompileRequest &request, llvm::StringRef key,
                        llvm::StringRef folder);

} // namespace updraft

#endif // UPDRAFT_REPORT_REPORT_H
