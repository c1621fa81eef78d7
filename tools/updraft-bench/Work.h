//===- Work.h - What is measured ----------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_WORK_H
#define UPDRAFT_TOOLS_BENCH_WORK_H

#include "Race.h"

#include <functional>
#include <string>
#include <vector>

namespace updraft::bench {

class PythonPeer;

struct BenchOptions {
  bool quick = false;            // small sizes and few rounds: whether it works, not how fast it is
  std::string rulesDir;          // where the shipped rules are
  std::string numerics = "ieee"; // of the rules in works that step
  std::string self;              // this program, started again for what needs a fresh process
  std::string python;            // an interpreter with updraft and torch, for works in Python
  std::string pythonScripts;     // the folder of the scripts that it runs
  std::string limitLibrary;      // what LimitLibrary.cpp makes
  int threads = 1;               // of a step
  PythonPeer *torch = nullptr;   // null: without PyTorch
  PythonPeer *jax = nullptr;     // null: without JAX

  /// A work that steps, as its rows name it.
  std::string labelled(const std::string &work) const {
    return numerics == "ieee" ? work : work + " (" + numerics + ")";
  }
};

/// A work by its name. `run` gives the rows; an error is thrown as std::runtime_error.
struct Work {
  std::string name;
  std::string description;
  std::function<std::vector<Row>(const BenchOptions &)> run;
  /// Works that are run where this is asked for, by its name: they take long, and need
  /// BenchOptions::python. Empty: those that are run where nothing is asked for.
  std::string group = {};
};

std::vector<Work> stepWorks();
std::vector<Work> rowWorks();
std::vector<Work> compileWorks();
std::vector<Work> threadWorks();
std::vector<Work> pythonStepWorks();
std::vector<Work> pythonProcessWorks();
std::vector<Work> distributedWorks();

/// The body of the fresh process that compileWorks starts: compiles `ruleFile` with the cache in
/// `cacheDir` (may be empty) and prints the milliseconds.
int compileProbe(const std::string &ruleFile, const std::string &cacheDir);
/// The same for PTX.
int ptxProbe(const std::string &ruleFile);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_WORK_H
