//===- LocalOptimizer.h - A distributed optimizer's part on one worker --------------*- C++ -*-===//
// Steps the parameters that a worker has, from the gradients that one distributed-autograd context
// holds there. No Python runs, and none is waited for.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_LOCALOPTIMIZER_H
#define UPDRAFT_RUNTIME_TORCH_RPC_LOCALOPTIMIZER_H

#include "runtime/base/MemoryRanges.h"
#include "runtime/dist/ContextStep.h"
#include "runtime/dist/StorageLocks.h"
#include "runtime/torch/GroupStepper.h"
#include "runtime/torch/rpc/OptimizerRequest.h"
#include "runtime/torch/rpc/StoredStates.h"

#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace updraft::torch_adapter {

/// Any thread may call into an object; one waits for another that steps the same parameters.
class LocalOptimizer {
public:
  /// Throws ValueError for a parameter that is no leaf of autograd, or that shares memory with
  /// another, naming it by its number, and what the compiler or the rule says.
  LocalOptimizer(const OptimizerRequest &request, std::vector<at::Tensor> params);

  /// Takes the place of another with the same parameters: what that has applied, or yet applies,
  /// this has, too. Before the first step.
  void replace(const LocalOptimizer &other) { progress = other.progress; }

  /// The storage types of each group's parameters, in the order in which a step takes their
  /// hyperparameters: "0:f32 0:bf16 2:f32". Groups are counted in the request.
  std::string parts() const;

  /// Applies the gradients that the context has here; returns how many parameters were stepped. A
  /// context that this worker has not heard of has none. If it was applied more than `before` times
  /// already, nothing is done, and ContextStep::alreadyApplied returned. `hypers` are those of
  /// every group and storage type, one behind the other, no more and no fewer. An error is thrown
  /// before anything is written.
  int64_t step(int64_t context, int64_t before, const std::vector<double> &hypers);

  /// The states by NUMBER/NAME: copies, which no step changes.
  c10::Dict<std::string, at::Tensor> states();
  /// Sets states by NUMBER/NAME: of each parameter all or none. Those whose names are in `optional`
  /// are left out where the rule, as it is compiled, has none of that name. Throws ValueError for
  /// any other; then some may be set.
  void loadStates(const c10::Dict<std::string, at::Tensor> &states,
                  const std::vector<std::string> &optional);

private:
  /// Parameters of one group and one storage type.
  struct Bucket {
    size_t group;
    upd_dtype dtype;
    std::vector<size_t> params; ///< places in the worker's list
    std::vector<int64_t> numbers;
    RulePointer rule;
    StoredStates states;
    c10::intrusive_ptr<GroupStepper> stepper;
  };

  class Step;

  void takeHypers(const std::vector<double> &hypers);
  /// Makes a bucket ready to step from gradients of its parameters.
  void prepare(size_t bucket, const std::vector<at::Tensor> &grads);
  /// Refuses a gradient, of a bucket that is ready, in memory of a parameter of any bucket.
  void requireOwnMemory(const Bucket &bucket) const;
  /// Refuses a group that is stepped in parts, here or on several workers, by a rule that reduces
  /// over all of it. Its buckets are those from `first` on.
  void requireTogether(const GroupRequest &group, size_t first) const;
  void addBucket(const OptimizerRequest &request, size_t group, upd_dtype dtype,
                 const std::vector<size_t> &members);

  std::shared_ptr<dist::StepProgress> progress = std::make_shared<dist::StepProgress>();
  // What follows stays as it was made.
  std::vector<at::Tensor> params;
  dist::StorageLocks locks;
  std::vector<Bucket> buckets;
  /// Of the parameters, which own them by place, if there are several buckets.
  runtime::MemoryRanges memory;
  std::vector<int64_t> numbers;
  bool countVersions;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_LOCALOPTIMIZER_H
