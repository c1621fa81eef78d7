//===- RuleText.h - Reading the text of rules ---------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_FRONTEND_RULETEXT_H
#define UPDRAFT_FRONTEND_RULETEXT_H

#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <string>

namespace updraft {

/// Returns the bytes of an open file, and closes it unless it is the standard input. Reads at most
/// one byte more than the longest text that the language allows, so an endless device counts as a
/// file that is too long. The error is the system's.
llvm::Expected<std::string> readRuleText(llvm::sys::fs::file_t file);

/// Returns the text of an imported file. It must be a regular file: devices are not opened, and
/// pipes are not waited for. The error says why it cannot be read.
llvm::Expected<std::string> readImport(llvm::StringRef path);

} // namespace updraft

#endif // UPDRAFT_FRONTEND_RULETEXT_H
