//===- Command.h - The command that makes a report ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_REPORT_COMMAND_H
#define UPDRAFT_LIB_REPORT_COMMAND_H

#include "updraft/Report/Report.h"

namespace updraft {

/// For a rule that wasn't read from a file, the name under which to save it, such as `cubic.upd`
/// for the rule `<cubic>`. Otherwise empty.
std::string nameToSave(const CompileRequest &rule);

/// Returns the command that makes the same report, without a run. A rule that wasn't read from a
/// file must be saved under `nameToSave` first.
std::string commandOf(const ReportRequest &request);

/// Returns a command of `commandOf` that also shows the files of a run, and no others.
std::string withRunFiles(llvm::StringRef command, llvm::ArrayRef<RunFile> files);

} // namespace updraft

#endif // UPDRAFT_LIB_REPORT_COMMAND_H
