//===- GroupStepper.h - A compiled rule over a parameter group of torch -------------*- C++ -*-===//
// Holds the parameters of one group once, and steps them from their `.grad` with no Python on the
// way. Any thread may call into an object; one waits for the other.

#ifndef UPDRAFT_RUNTIME_TORCH_GROUPSTEPPER_H
#define UPDRAFT_RUNTIME_TORCH_GROUPSTEPPER_H

#include "runtime/base/MemoryRanges.h"
#include "runtime/torch/Library.h"
#include "runtime/torch/ParameterTable.h"

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace updraft::torch_adapter {

/// A step count as a number; throws ValueError, which names the parameter, if it is none.
int64_t asStepCount(double count, int64_t param);

class GroupStepper : public torch::CustomClassHolder {
public:
  /// The optimizer keeps `rule` alive. The caller owns the parameters, and keeps them while it
  /// steps; so it does with states that it binds or asks for, while they are to be known to
  /// autograd as changed. All parameters have the rule's storage type, and the order of
  /// hyperparameters is its own. `sparseRefusal` is what is said to a sparse gradient; empty: it is
  /// taken, by its rows or, with `sparseAsDense`, as the dense one. `denseRefusal` is the same for
  /// another one. Messages call parameters by `numbers`; none: by their places.
  ///
  /// Parameters are on the CPU, or all on one GPU, which the rule was compiled for; `emulated`: on
  /// the CPU, as on a GPU. There a step waits for nothing, and runs on torch's current stream.
  ///
  /// `countType`: of the step counts of parameters that get their states here, float32 or float64.
  GroupStepper(upd_rule *rule, const std::vector<at::Tensor> &params, std::vector<double> hypers,
               std::string sparseRefusal, std::string denseRefusal, bool sparseAsDense,
               std::vector<int64_t> numbers = {}, bool emulated = false,
               at::ScalarType countType = at::kFloat);

  /// What random numbers depend on beside the element and the step: a seed, all 64 bits of it, and
  /// the number of each parameter among those of all groups.
  void setRandom(int64_t seed, const std::vector<int64_t> &numbers);

  /// Sets all hyperparameters, to any values: the rule's requirements are for whoever makes an
  /// optimizer.
  void setHypers(const std::vector<double> &hypers);

  /// Has each step read a hyperparameter, by its place in the rule's order, from a tensor of one
  /// element where the parameters are. None: not any more.
  void bindHyper(int64_t hyper, const std::optional<at::Tensor> &value);
  /// Has steps change nothing that find this float32 tensor, where the parameters are, other than
  /// 0.
  void bindFoundInf(const std::optional<at::Tensor> &found);

  // The parts of a step, in this order. One thread does all of them, and keeps others from stepping
  // meanwhile. Several objects can step together: what is refused is refused by `prepare`, which
  // writes nothing. After `look` or `prepare` has returned false or thrown, there is nothing to
  // apply or abandon.

  /// Takes the gradients, and returns whether parameters, states and step counts are where they
  /// were, with the types and layouts that they had. The thread holds the interpreter's lock, and
  /// gradients are those of `.grad`.
  bool look();
  /// Refuses what a step refuses. States of first steps have their memory when it returns. Needs no
  /// lock of the interpreter.
  void prepare();
  /// `look` and `prepare`, with the lock of the interpreter for the former.
  bool lookAndPrepare();
  /// The same with a gradient for each parameter, or an undefined tensor, whatever `.grad` is;
  /// waits for no Python.
  bool lookAndPrepare(const std::vector<at::Tensor> &grads);
  /// Calls `look` with the memory of each gradient that is prepared, and what messages call its
  /// parameter by.
  void forPrepared(
      const std::function<void(int64_t number, const runtime::MemoryRange &grad)> &look) const;
  /// Refuses nothing. `countVersions`: autograd knows of the change of parameters and states.
  /// Returns whether parameters may have got their states, for `takeFresh`.
  bool apply(bool countVersions);
  /// In place of `apply`.
  void abandon();

  /// The parameters, by number, that got their states in steps since the last call. A GPU is waited
  /// for; those whose first step it has skipped follow later.
  std::vector<int64_t> takeFresh();

  /// Whether `param` has a state of this name: one may be of matrices or vectors only.
  bool hasState(int64_t param, const std::string &name) const;

  /// The states of `name` of `params`, as tensors over the library's memory, which they keep. All
  /// of them must have it.
  std::vector<at::Tensor> states(const std::vector<int64_t> &params, const std::string &name);

  /// A copy of a state, or of the step count, which is `step`; undefined where there is none.
  at::Tensor copyOfState(int64_t param, const std::string &name) const;

  /// The step counts of `params`: scalars, as torch has them, where the parameters are.
  /// They are read at every step, so that writing to one changes the count.
  std::vector<at::Tensor> stepCounts(const std::vector<int64_t> &params);

  /// Uses a tensor as a state of a parameter, with its value.
  void bindState(int64_t param, const std::string &name, const at::Tensor &state);

  /// Uses copies of the codes and scales of a state in blocks, whose codes have the element
  /// type `type`; returns the copies.
  std::vector<at::Tensor> bindBlocks(int64_t param, const std::string &name,
                                     const std::string &type, const at::Tensor &codes,
                                     const at::Tensor &scales);

  /// Uses a real scalar, on a GPU float32 or float64, as a parameter's step count; where the
  /// parameters are.
  void bindStepCount(int64_t param, const at::Tensor &count);

  /// Sets a parameter's step count, which no tensor has.
  void setStepCount(int64_t param, int64_t count);

private:
  /// Shared with the tensors over states.
  struct Handle {
    explicit Handle(upd_optimizer *optimizer) : optimizer(optimizer) {}
    ~Handle() { Library::get().upd_optimizer_release(optimizer); }
    Handle(const Handle &) = delete;
    upd_optimizer *optimizer;
    std::vector<c10::Storage> bound; ///< memory of states that is not the library's
  };

  /// A gradient that needs a closer look.
  struct Unusual {
    size_t param;
    at::Tensor grad;
  };

  std::unique_lock<std::mutex> lockInTurn() const;
  void makeCounts();
  void setStream() const;
  bool lookAt(const at::Tensor *grads);
  void prepareTaken();
  void drop();
  void readCounts();
  void takeGradient(const Unusual &given);
  void refuse(size_t param, const upd_tensor &grad) const;
  void afterDeviceStep(bool countVersions);
  size_t checked(int64_t param) const;
  /// What messages call a parameter by.
  int64_t numberOf(size_t index) const {
    return numbers.empty() ? static_cast<int64_t>(index) : numbers[index];
  }

  std::mutex mutable mutex;
  std::vector<int64_t> numbers; ///< of parameters; none: their places
  StepDevice on;
  ParameterTable table;
  bool isPrepared = false; ///< a step is, and neither applied nor abandoned
  std::shared_ptr<Handle> handle;
  std::vector<const char *> hyperNames;
  std::vector<double> hypers;
  std::vector<at::Tensor> readTensors; ///< by hyperparameter, and `found_inf`
  std::string sparseRefusal, denseRefusal;
  bool sparseAsDense;
  std::vector<int64_t> fresh;

  // Of the step that runs.
  std::vector<Unusual> unusual;
  bool areCountsWritten = false;
  std::vector<at::Tensor> held; ///< parts of sparse gradients
  std::vector<upd_row_grad> rowGrads;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_GROUPSTEPPER_H
