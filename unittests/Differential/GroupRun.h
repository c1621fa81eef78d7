//===- GroupRun.h - Compiled and interpreted optimizers -----------------------------*- C++ -*-===//
// Steps two groups of tensors of many shapes, some without a gradient, through the C API and in the
// interpreter.

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_GROUPRUN_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_GROUPRUN_H

#include "Recording.h"
#include "Sides.h"

#include "updraft-c/probes.h"

#include <map>
#include <random>

namespace updraft::differential {

/// Threads of the test, started for each task.
struct TaskThreads {
  int32_t threads;

  upd_pool view();
};

/// The dimensions of the tensors of a run.
using Shapes = std::vector<std::vector<int64_t>>;

/// Sizes around the units of vectors, leaves and blocks of rows; batches, empty tensors and
/// scalars.
const Shapes &manyShapes();

/// The tensor in `data`, of these dimensions. Both must outlive it.
upd_tensor view(std::vector<char> &data, const std::vector<int64_t> &dimensions, upd_dtype dtype);

/// A rule in the C API and in the interpreter, over the same tensors in two groups: every third
/// tensor is in the second group, and each lacks a gradient now and then. Call the functions in
/// ASSERT_NO_FATAL_FAILURE.
class GroupRun {
public:
  GroupRun() = default;
  GroupRun(const GroupRun &) = delete;
  GroupRun &operator=(const GroupRun &) = delete;
  /// Writes the recording, if there is one.
  ~GroupRun();

  void make(const RuleCase &ruleCase, const Shapes &shapes, int32_t threads);
  /// Steps both with new gradients, and compares every bit. Steps count from 1. If given, the pool
  /// has another number of threads when the prepared step is applied.
  void step(int number, int32_t threadsToApply = 0);

  /// Probes every so many steps. Then `step` also compares the probes, in other steps that there
  /// are none.
  void probeEvery(int every);

  /// Steps a rule with parameters and gradients of each usual type, on 1 and on 3 threads.
  static void stepInEveryType(RuleCase ruleCase, const Shapes &shapes, int steps);

  /// Takes a step with the code of each other CPU that this one can run.
  static void stepOnOtherCPUs(RuleCase ruleCase, const Shapes &shapes);

private:
  struct Parameter {
    std::vector<int64_t> dimensions;
    size_t group;
    const reference::Interpreter *rule = nullptr;
    std::vector<char> compiled, grad;
    std::map<std::string, std::vector<char>> interpreted; // by stream, except those over groups
    int64_t step = 0;
    bool hasState = false;
    std::vector<double> probes; // of the last step
    bool wasSkipped = false;

    reference::Shape shape() const { return reference::Shape::of(dimensions); }
  };

  void makeParameters(const Shapes &shapes);
  std::vector<upd_tensor> params();
  std::vector<upd_tensor> fillGradients(int step);
  void interpret(size_t group, const std::vector<upd_tensor> &grads);
  void compare(int step);
  void compareProbes(int step, const std::vector<upd_tensor> &grads);
  std::vector<char> &memoryOf(Parameter &parameter, const reference::Stream &stream) {
    return stream.over == Extent::group ? groupStates[{parameter.group, stream.name}]
                                        : parameter.interpreted[stream.name];
  }

  RuleHandle rule;
  OptimizerHandle optimizer;
  std::vector<reference::Interpreter> interpreters; // of all forms
  std::vector<Parameter> parameters;
  std::map<std::pair<size_t, std::string>, std::vector<char>> groupStates;
  std::vector<double> hypers;
  TaskThreads pool;
  upd_pool poolView;
  std::mt19937_64 random{7};
  std::unique_ptr<Recording> recording;
  int probedEvery = 1;
  uint64_t probeCursor = 0;
};

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_GROUPRUN_H
