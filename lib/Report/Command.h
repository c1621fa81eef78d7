//===- Command.h - The command that makes a report ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_REPORT_COMMAND_H
#define UPDRAFT_LIB_REPORT_COMMAND_H

#include "updraft/Report/Report.h"

namespace updraft {

/// Returns the file name to save a rule to that wasn't read from a file, such as `cubic.upd` for
/// the rule `<cubic>`. Empty if it was.
std::string nameToSave(const CompileRequest &rule);

/// Returns the command that makes the same report, without a run. A rule that wasn't read from a
/// file must be saved under `nameToSave` first.
std::string commandOf(const ReportRequest &request);

/// Returns a command of `commandOf` that also shows the files of a run, and no others.
std::string withRunFiles(llvm::StringRef command, llvm::ArrayRef<RunFile> files);

} // namespace updraft

#endif // UPDRAFT_LIB_REPORT_COMMAND_H
