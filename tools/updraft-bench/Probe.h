//===- Probe.h - Measurements in fresh processes ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_PROBE_H
#define UPDRAFT_TOOLS_BENCH_PROBE_H

#include <string>
#include <vector>

namespace updraft::bench {

/// Runs a shell command and returns the `count` numbers that it prints. Throws std::runtime_error
/// if the command fails or prints fewer.
std::vector<double> probe(const std::string &command, size_t count = 1);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_PROBE_H
