//===- Report.h - What the compiler did to a rule -----------------------------------*- C++ -*-===//
// A report is one JSON document (docs/report-format.md), and a page that shows it.

#ifndef UPDRAFT_REPORT_REPORT_H
#define UPDRAFT_REPORT_REPORT_H

#include "updraft/Driver/Compiler.h"

namespace updraft {

struct ReportRequest {
  CompileRequest rule;
  std::optional<GPUTarget> alsoFor; // adds the stages of a GPU to those of a CPU
  bool measureMemory = false;       // measures this machine's memory, for a tenth of a second
};

/// Compiles the rule and returns the document.
llvm::Expected<std::string> makeReport(Compiler &compiler, const ReportRequest &request);

/// Returns the page of a document. With `other`, a second document, also shows what changed.
std::string reportPage(llvm::StringRef document, llvm::StringRef other = "");

/// Returns the document that a page, or a file with the document alone, contains.
llvm::Expected<std::string> documentIn(llvm::StringRef content);

} // namespace updraft

#endif // UPDRAFT_REPORT_REPORT_H
