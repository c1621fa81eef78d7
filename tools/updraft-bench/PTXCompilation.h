//===- PTXCompilation.h - Compilation for a GPU -------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_PTXCOMPILATION_H
#define UPDRAFT_TOOLS_BENCH_PTXCOMPILATION_H

#include <string>

namespace updraft::bench {

/// Compiles a rule file to PTX for sm_90 and returns the milliseconds. Sets `lr` to `learningRate`
/// unless that is empty. Calls share one compiler, so only one thread may call at a time. Throws
/// std::runtime_error.
double compilePTXMs(const std::string &ruleFile, const std::string &learningRate = "");

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_PTXCOMPILATION_H
