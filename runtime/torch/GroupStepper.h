//===- GroupStepper.h - A compiled rule over a parameter group of torch -------------*- C++ -*-===//
// Holds the parameters of one group once, and steps them from their `.grad` with no Python on the
// way. Not thread-safe: one thread at a time may call into an object.

#ifndef UPDRAFT_RUNTIME_TORCH_GROUPSTEPPER_H
#define UPDRAFT_RUNTIME_TORCH_GROUPSTEPPER_H

#include "runtime/torch/Library.h"

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <memory>
#include <string>
#include <vector>

namespace updraft::torch_adapter {

class GroupStepper : public torch::CustomClassHolder {
public:
  /// `rule` is the address of a upd_rule. All parameters have its storage type, and the order of
  /// hyperparameters is its own. `sparseRefusal` is what is said to a sparse gradient; empty: it is
  /// taken, by its rows or, with `sparseAsDense`, as the dense one. `denseRefusal` is the same for
  /// another one.
  GroupStepper(int64_t rule, std::vector<at::Tensor> params, std::vector<double> hypers,
               std::string sparseRefusal, std::string denseRefusal, bool sparseAsDense);

  /// What random numbers depend on beside the element and the step: a seed, all 64 bits of it, and
  /// the number of each parameter among those of all groups.
  void setRandom(int64_t seed, const std::vector<int64_t> &numbers);

  enum Outcome : int64_t {
    Done = 0,
    Fresh = 1, ///< a parameter has got its states
    Moved = 2  ///< nothing is done: a parameter has other memory, or another layout, than before
  };

  /// One step of every parameter that has a gradient. Neither a gradient nor `.grad` is written. An
  /// error is thrown before anything is written.
  int64_t step(const std::vector<double> &hypers);

  /// The parameters, by number, that got their states in steps since the last call.
  std::vector<int64_t> takeFresh();

  /// Whether `param` has a state of this name: one may be of matrices or vectors only.
  bool hasState(int64_t param, const std::string &name) const;

  /// The states of `name` of `params`, as tensors over the library's memory, which they keep. All
  /// of them must have it.
  std::vector<at::Tensor> states(const std::vector<int64_t> &params, const std::string &name) const;

  /// The step counts of `params`: float32 scalars, as torch has them. They are read at every step,
  /// so that writing to one changes the count.
  std::vector<at::Tensor> stepCounts(const std::vector<int64_t> &params);

  /// Uses a tensor as a state of a parameter, with its value.
  void bindState(int64_t param, const std::string &name, const at::Tensor &state);

  /// Uses copies of the codes and scales of a state in blocks, which is stored as `dtype` (a
  /// upd_dtype); returns the copies.
  std::vector<at::Tensor> bindBlocks(int64_t param, const std::string &name, int64_t dtype,
                                     const at::Tensor &codes, const at::Tensor &scales);

  /// Uses a float32 or float64 scalar as a parameter's step count.
  void bindStepCount(int64_t param, const at::Tensor &count);

private:
  struct Handle {
    explicit Handle(upd_optimizer *optimizer) : optimizer(optimizer) {}
    ~Handle() { Library::get().upd_optimizer_release(optimizer); }
    Handle(const Handle &) = delete;
    upd_optimizer *optimizer;
  };

  struct Parameter {
    at::Tensor tensor;             ///< as the caller gave it
    at::Tensor before;             ///< what it was when the object was made
    at::Tensor real;               ///< that, complex as pairs; keeps the memory
    std::vector<at::Tensor> bound; ///< states that are the caller's memory
    at::Tensor count;              ///< 0-d float; undefined before the first step
    int64_t known = 0;             ///< the count that the library knows
    bool hasStates = false;
  };

  void setHypers(const std::vector<double> &hypers);
  void readCounts();
  bool hasMoved() const;
  void takeGradient(size_t index);
  void afterStep(size_t index);
  const Parameter &at(int64_t param) const;

  std::vector<Parameter> params;
  std::shared_ptr<Handle> handle; ///< shared with the tensors over its states
  std::vector<const char *> hyperNames;
  std::vector<double> hypers;
  std::string sparseRefusal, denseRefusal;
  bool sparseAsDense;
  std::vector<int64_t> fresh;

  // Of the step that runs.
  std::vector<upd_tensor> grads;
  std::vector<c10::Storage> memory; ///< of gradients, or copies of those of another layout
  std::vector<at::Tensor> held;     ///< parts of sparse gradients, and what is refused
  std::vector<upd_row_grad> rowGrads;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_GROUPSTEPPER_H
