//===- PTXCompilation.h - Compilations for a GPU ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_PTXCOMPILATION_H
#define UPDRAFT_TOOLS_BENCH_PTXCOMPILATION_H

#include <string>

namespace updraft::bench {

/// Compiles a rule file to PTX for sm_90, with `learningRate` for its `lr` if it is not empty, and
/// returns the milliseconds. What a compiler keeps between rules is kept. One thread at a time.
/// Throws std::runtime_error.
double compilePTXMs(const std::string &ruleFile, const std::string &learningRate = "");

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_PTXCOMPILATION_H
