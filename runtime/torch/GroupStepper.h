//===- GroupStepper.h - A compiled rule over a parameter group of torch -------------*- C++ -*-===//
// Updates the parameters of one group from their `.grad`, without running Python code. Thread-safe:
// calls on one object are serialized.

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
#include <tuple>
#include <vector>

namespace updraft::torch_adapter {

/// Converts a step count to an integer. Throws ValueError, which names the parameter, if it isn't a
/// whole number from 0 to 2^53.
int64_t asStepCount(double count, const std::string &param);

class GroupStepper : public ::torch::CustomClassHolder {
public:
  /// The optimizer keeps `rule` alive. The caller owns the parameters and keeps them alive during a
  /// step. It also keeps alive the states that it binds or asks for, as long as autograd must learn
  /// of their changes. All parameters have the rule's storage type. Hyperparameters are in the
  /// rule's order. `sparseRefusal` is the error message for a sparse gradient. If it is empty,
  /// sparse gradients are accepted: by rows or, with `sparseAsDense`, converted to dense.
  /// `denseRefusal` is the same for dense gradients. Messages identify parameters by `names`,
  /// which are unique, or by index if it is empty.
  ///
  /// Parameters are on the CPU, or all on the GPU that the rule was compiled for. `emulated`: CPU
  /// tensors are stepped by GPU code in the emulator. On a GPU a step runs on torch's current
  /// stream and doesn't synchronize.
  ///
  /// `countType` is the type of step counts that this object creates: float32 or float64.
  GroupStepper(upd_rule *rule, const std::vector<at::Tensor> &params, std::vector<double> hypers,
               std::string sparseRefusal, std::string denseRefusal, bool sparseAsDense,
               std::vector<std::string> names = {}, bool emulated = false,
               at::ScalarType countType = at::kFloat);

  /// Sets the inputs of random numbers other than the element and the step: a 64-bit seed, and the
  /// number of each parameter among those of all groups.
  void setRandom(int64_t seed, const std::vector<int64_t> &numbers);

  /// Sets all hyperparameters. Doesn't check the rule's requirements: the optimizer's constructor
  /// does.
  void setHypers(const std::vector<double> &hypers);

  /// Makes each step read a hyperparameter, given by its index in the rule, from a tensor of one
  /// element on the parameters' device. nullopt removes the binding.
  void bindHyper(int64_t hyper, const std::optional<at::Tensor> &value);
  /// Makes a step change nothing if this float32 tensor, on the parameters' device, isn't 0.
  /// nullopt removes the binding.
  void bindFoundInf(const std::optional<at::Tensor> &found);

  // The parts of a step, in this order. One thread calls all of them, and keeps other threads from
  // stepping meanwhile. Several objects can step together: `prepare` reports all errors and writes
  // nothing. After `look` has returned false, or one of the two has thrown, there is nothing to
  // apply or abandon.

  /// Takes the gradients from `.grad`. Returns whether parameters, states and step counts still
  /// have the same memory, types and layouts. The calling thread holds the GIL.
  bool look();
  /// Reports every error that a step can have. Allocates the states of first steps. Doesn't need
  /// the GIL.
  void prepare();
  /// Calls `look` with the GIL, then `prepare` without it.
  bool lookAndPrepare();
  /// The same with a gradient, or an undefined tensor, for each parameter instead of `.grad`.
  /// Doesn't wait for the GIL.
  bool lookAndPrepare(const std::vector<at::Tensor> &grads);
  /// Calls `look` with the memory of each prepared gradient, and the index of its parameter.
  void forPrepared(
      const std::function<void(size_t param, const runtime::MemoryRange &grad)> &look) const;
  /// Never refuses. With `countVersions` it bumps the versions of parameters and states for
  /// autograd. Returns whether parameters may have got states; `takeFresh` lists them.
  bool apply(bool countVersions);
  /// Called instead of `apply`.
  void abandon();

  /// Probes every so many steps; 0: none.
  void setProbeEvery(int64_t every);
  /// Returns the rows of probed steps from row `cursor` on: the step count and the index of the
  /// parameter, int64 [rows, 2]; the probes, float64 [rows, probes]; the next cursor; the number of
  /// rows that were lost. Never waits for a step.
  std::tuple<at::Tensor, at::Tensor, int64_t, int64_t> readProbes(int64_t cursor) const;

  /// Returns the indices of the parameters that got states since the last call. Waits for a GPU. A
  /// parameter whose first step the GPU has skipped is returned by a later call.
  std::vector<int64_t> takeFresh();

  /// Whether `param` has a state of this name. A rule can have states for matrices or vectors only.
  bool hasState(int64_t param, const std::string &name) const;

  /// Returns the state `name` of each of `params`, as tensors over the library's memory, which they
  /// keep alive. Every parameter must have it.
  std::vector<at::Tensor> states(const std::vector<int64_t> &params, const std::string &name);

  /// Returns a copy of a state, or of the step count if `name` is `step`. Undefined if there is
  /// none.
  at::Tensor copyOfState(int64_t param, const std::string &name) const;

  /// Returns the step counts of `params` as scalar tensors on the parameters' device, like torch's.
  /// Every step reads them, so writing to one changes the count.
  std::vector<at::Tensor> stepCounts(const std::vector<int64_t> &params);

  /// Uses a tensor, with its current value, as a state of a parameter.
  void bindState(int64_t param, const std::string &name, const at::Tensor &state);

  /// Copies the codes and scales of a block-quantized state, uses the copies as the state, and
  /// returns them. The codes have the element type `type`.
  std::vector<at::Tensor> bindBlocks(int64_t param, const std::string &name,
                                     const std::string &type, const at::Tensor &codes,
                                     const at::Tensor &scales);

  /// Uses a real scalar on the parameters' device as a parameter's step count. On a GPU it is
  /// float32 or float64.
  void bindStepCount(int64_t param, const at::Tensor &count);

  /// Sets the step count of a parameter that has no step count tensor.
  void setStepCount(int64_t param, int64_t count);

private:
  /// Shared with the tensors that view states.
  struct Handle {
    explicit Handle(upd_optimizer *optimizer) : optimizer(optimizer) {}
    ~Handle() { Library::get().upd_optimizer_release(optimizer); }
    Handle(const Handle &) = delete;
    upd_optimizer *optimizer;
    std::vector<c10::Storage> bound; ///< memory of bound states
  };

  /// A gradient that `ParameterTable::look` can't take directly.
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
  size_t probeCount;
  std::mutex mutable mutex;
  std::vector<std::string> names; ///< of parameters, in messages
  StepDevice on;
  ParameterTable table;
  bool isPrepared = false; ///< a step is prepared, and neither applied nor abandoned
  std::shared_ptr<Handle> handle;
  std::vector<const char *> hyperNames;
  std::vector<double> hypers;
  std::vector<at::Tensor> readTensors; ///< by hyperparameter, then `found_inf`
  std::string sparseRefusal, denseRefusal;
  bool sparseAsDense;
  std::vector<int64_t> fresh;

  // The current step.
  std::vector<Unusual> unusual;
  bool areCountsWritten = false;
  std::vector<at::Tensor> held; ///< parts of sparse gradients
  std::vector<upd_row_grad> rowGrads;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_GROUPSTEPPER_H
