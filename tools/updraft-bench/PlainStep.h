//===- PlainStep.h - A step behind one call of gRPC ---------------------------------*- C++ -*-===//
// The baseline of steps on a worker: what gRPC itself takes. The server only carries out a local
// step. Both sides wait as updraft-worker and its client do.

#ifndef UPDRAFT_TOOLS_BENCH_PLAINSTEP_H
#define UPDRAFT_TOOLS_BENCH_PLAINSTEP_H

#include "Stepper.h"

#include <memory>
#include <string>

namespace updraft::bench {

/// The main function of a process that steps at each request.
int plainStepServer(const StepSetup &setup);

/// Calls such a process. Throws std::runtime_error.
class PlainStep {
public:
  explicit PlainStep(const std::string &address);
  ~PlainStep();
  /// Returns once the other side has stepped.
  void step();

private:
  struct Connection;
  std::unique_ptr<Connection> connection;
};

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_PLAINSTEP_H
