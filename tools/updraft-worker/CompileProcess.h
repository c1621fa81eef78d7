//===- CompileProcess.h - Compiling in a process with limits ------------------------*- C++ -*-===//
// Rules come from clients, and no rule may slow down or end the worker.

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_COMPILEPROCESS_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_COMPILEPROCESS_H

#include "updraft/worker/v1/worker.pb.h"

#include <string>

namespace updraft::worker {

/// False if the worker was built without the compiler. Then the last two functions don't compile.
bool hasCompiler();
/// "updraft 0.1.0", with LLVM's version if there is a compiler.
std::string versionText();

/// Compiles a rule's text in another process, in at most 5 seconds and 4 GiB. Returns a package for
/// this machine. Throws server::Refusal. Thread-safe.
std::string compileApart(const v1::Rule &rule);

/// The main function of that process, which reads the rule from the standard input and writes the
/// package to the standard output. Returns the exit code.
int compileHere();

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_COMPILEPROCESS_H
