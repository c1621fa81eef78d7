//===- Work.h - Benchmarks and their options ----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_WORK_H
#define UPDRAFT_TOOLS_BENCH_WORK_H

#include "Race.h"

#include <functional>
#include <string>
#include <vector>

namespace updraft::bench {

class PythonPeer;

struct BenchOptions {
  bool quick = false;            // small sizes and few rounds: only shows that it works
  std::string rulesDir;          // folder of the shipped rules
  std::string numerics = "ieee"; // numerics mode of the works that step
  std::string self;              // this program, restarted for works that need a fresh process
  std::string python;            // an interpreter with updraft and torch, for works in Python
  std::string pythonScripts;     // folder of its scripts
  std::string limitLibrary;      // the library of LimitLibrary.cpp
  int threads = 1;               // of a step
  PythonPeer *torch = nullptr;   // null: without PyTorch
  PythonPeer *jax = nullptr;     // null: without JAX

  /// The name of a work that steps, for its rows.
  std::string labelled(const std::string &work) const {
    return numerics == "ieee" ? work : work + " (" + numerics + ")";
  }
};

/// A named work. `run` returns the rows. Errors are thrown as std::runtime_error.
struct Work {
  std::string name;
  std::string description;
  std::function<std::vector<Row>(const BenchOptions &)> run;
  /// The work runs only if this group is named on the command line: it takes long and needs
  /// BenchOptions::python or updraft-worker. If empty, the work runs by default.
  std::string group = {};
};

std::vector<Work> stepWorks();
std::vector<Work> rowWorks();
std::vector<Work> interfaceWorks();
std::vector<Work> packageWorks();
std::vector<Work> compileWorks();
std::vector<Work> probeWorks();
std::vector<Work> threadWorks();
std::vector<Work> linkedWorks();
std::vector<Work> pythonStepWorks();
std::vector<Work> pythonProcessWorks();
std::vector<Work> distributedWorks();
std::vector<Work> matrixWorks();
/// Only in builds with UPDRAFT_BUILD_WORKER.
std::vector<Work> grpcWorks();

/// The main function of the fresh process that compileWorks starts: compiles `ruleFile` with the
/// cache in `cacheDir` (may be empty) and prints the milliseconds.
int compileProbe(const std::string &ruleFile, const std::string &cacheDir);
/// Does the same for PTX.
int ptxProbe(const std::string &ruleFile);
/// The main functions of the processes that grpcWorks starts: PlainStep.h, from the rule's file,
/// the numerics, and the number and size of the tensors; and PlainStream.h, from the number of
/// bytes and the folder of certificates.
int plainStepProbe(const std::vector<std::string> &arguments);
int plainStreamProbe(const std::vector<std::string> &arguments);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_WORK_H
