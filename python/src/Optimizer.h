//===- Optimizer.h - An optimizer over Python arrays --------------------------------*- C++ -*-===//
// Owns a upd_optimizer and the arrays that it writes to.
//===---------------------------------------------------------------------------------------===//

#ifndef UPDRAFT_PYTHON_OPTIMIZER_H
#define UPDRAFT_PYTHON_OPTIMIZER_H

#include "Rule.h"
#include "Tensor.h"
#include "updraft-c/optimizer.h"

#include <mutex>

namespace updraft::python {

/// No call waits for the optimizer's lock while it holds the GIL: a second thread waits for a step
/// in progress, and other Python threads run meanwhile.
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

  /// A gradient of some rows of a parameter. The indices are contiguous, of int64.
  struct RowGrad {
    size_t param;
    nanobind::object indices;
    nanobind::object values;
    int32_t indexDims;
  };

  void step(const nanobind::sequence &grads, const std::vector<RowGrad> &rowGrads);
  double getHyper(size_t group, const std::string &name);
  /// All of them, or on an error none.
  void setHypers(size_t group, const std::vector<std::pair<std::string, double>> &values);
  uint64_t getSeed();
  void setSeed(uint64_t seed);
  int64_t getStep(size_t param);
  void setStep(size_t param, int64_t step);
  void bindState(size_t param, const std::string &state, nanobind::handle array);
  void save(const std::string &path);
  void load(const std::string &path);

  /// An array over the state's memory, or None while the parameter has none. It keeps the bound
  /// array alive; or `self`, this optimizer, whose memory it is.
  nanobind::object state(nanobind::handle self, size_t param, const std::string &name);
  size_t paramCount() const { return upd_optimizer_param_count(handle.get()); }

  /// For the garbage collector, which sees no Python object in C++ but those that are visited.
  int traverse(visitproc visit, void *arg) const;
  void clear();

private:
  /// Calls `function(optimizer)` with the lock and without the GIL, and raises what it returns.
  template <typename Function> void call(Function function);
  /// Calls `function(optimizer)` with the lock and with the GIL. It never waits for the one while
  /// it holds the other.
  template <typename Function> void callWithGIL(Function function);

  struct BoundState {
    size_t param;
    std::string name;
    TensorView view;

    /// Raises InvalidArgumentError if the array has other memory by now.
    void requireMemory() const;
  };
  void requireBoundMemory() const;

  struct Release {
    void operator()(upd_optimizer *optimizer) const { upd_optimizer_release(optimizer); }
  };

  std::vector<TensorView> params;
  std::vector<BoundState> boundStates; ///< changed with the lock and the GIL
  std::mutex lock;
  // Destroyed first: it points into the arrays above.
  std::unique_ptr<upd_optimizer, Release> handle;
};

void bindOptimizer(nanobind::module_ &module);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_OPTIMIZER_H
