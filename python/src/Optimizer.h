//===- Optimizer.h - An optimizer over Python arrays --------------------------------*- C++ -*-===//
// Owns a upd_optimizer and the arrays that it writes to.
//===---------------------------------------------------------------------------------------===//

#ifndef UPDRAFT_PYTHON_OPTIMIZER_H
#define UPDRAFT_PYTHON_OPTIMIZER_H

#include "Rule.h"
#include "Tensor.h"
#include "updraft-c/optimizer.h"
#include "updraft-c/probes.h"

#include <mutex>
#include <tuple>

namespace updraft::python {

/// Calls never wait for the optimizer's lock with the GIL held. So a second thread can wait for a
/// running step while other Python threads run.
class Optimizer {
public:
  struct Group {
    nanobind::list params;
    std::vector<std::string> names; ///< empty: numbered
    std::vector<std::pair<std::string, double>> hypers;
  };

  Optimizer(const Rule &rule, const std::vector<Group> &groups);
  ~Optimizer();
  Optimizer(const Optimizer &) = delete;
  Optimizer &operator=(const Optimizer &) = delete;

  /// A gradient of some rows of a parameter. The indices are contiguous int64.
  struct RowGrad {
    size_t param;
    nanobind::object indices;
    nanobind::object values;
    int32_t indexDims;
  };

  void step(const nanobind::sequence &grads, const std::vector<RowGrad> &rowGrads);
  double getHyper(size_t group, const std::string &name);
  /// Sets all of them, or on an error none.
  void setHypers(size_t group, const std::vector<std::pair<std::string, double>> &values);
  uint64_t getSeed();
  void setSeed(uint64_t seed);
  int64_t getStep(size_t param);
  void setStep(size_t param, int64_t step);
  void bindState(size_t param, const std::string &state, nanobind::handle array);
  void setProbeEvery(uint64_t every);
  uint64_t getProbeEvery();
  /// A parameter's step count and number, and its probes.
  using ProbeRow = std::tuple<int64_t, uint32_t, std::vector<double>>;
  /// Returns the next cursor, the number of rows that were lost, and the rows.
  std::tuple<uint64_t, uint64_t, std::vector<ProbeRow>> readProbes(uint64_t cursor) const;
  void save(const std::string &path);
  void load(const std::string &path);

  /// An array over the state's memory, or None if the parameter doesn't have the state. It keeps
  /// the bound array alive, or `self`, this optimizer, if that owns the memory.
  nanobind::object state(nanobind::handle self, size_t param, const std::string &name);
  size_t paramCount() const { return upd_optimizer_param_count(handle.get()); }

  /// For the garbage collector, which can't find Python objects in C++ otherwise.
  int traverse(visitproc visit, void *arg) const;
  void clear();

private:
  /// Calls `function(optimizer)` with the lock and without the GIL, and raises the error that it
  /// returns.
  template <typename Function> void call(Function function);
  /// Calls `function(optimizer)` with the lock and with the GIL. Never waits for one of them while
  /// it holds the other.
  template <typename Function> void callWithGIL(Function function);

  struct BoundState {
    size_t param;
    std::string name;
    TensorView view;

    /// Raises InvalidArgumentError if the array's memory has changed.
    void requireMemory() const;
  };
  void requireBoundMemory() const;

  struct Release {
    void operator()(upd_optimizer *optimizer) const { upd_optimizer_release(optimizer); }
  };

  size_t probeCount;
  std::vector<TensorView> params;
  std::vector<BoundState> boundStates; ///< changed with both the lock and the GIL
  std::mutex lock;
  // Destroyed first, because it refers to the arrays above.
  std::unique_ptr<upd_optimizer, Release> handle;
};

void bindOptimizer(nanobind::module_ &module);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_OPTIMIZER_H
