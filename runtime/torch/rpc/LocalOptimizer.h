//===- LocalOptimizer.h - A distributed optimizer's part on one worker --------------*- C++ -*-===//
// Steps the parameters on a worker, from the gradients of one distributed-autograd context there.
// Doesn't run or wait for Python.

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

/// Thread-safe. Concurrent steps of the same parameters wait for each other.
class LocalOptimizer {
public:
  /// Throws ValueError if a parameter isn't a leaf of autograd or shares memory with another, with
  /// the parameter's number in the message. Throws the errors of the compiler and the rule.
  LocalOptimizer(const OptimizerRequest &request, std::vector<at::Tensor> params);

  /// Replaces another optimizer of the same parameters: contexts that it has applied, or is still
  /// applying, count as applied here. Call this before the first step.
  void replace(const LocalOptimizer &other) { progress = other.progress; }

  /// The storage types of each group's parameters, in the order in which a step takes their
  /// hyperparameters: "0:f32 0:bf16 2:f32". The numbers are those of groups in the request.
  std::string parts() const;

  /// Applies the context's gradients on this worker; returns the number of stepped parameters. A
  /// context that this worker doesn't know has no gradients. If the context was already applied
  /// more than `before` times, does nothing and returns ContextStep::alreadyApplied. `hypers` are
  /// those of every group and storage type, concatenated. Throws before anything is written.
  int64_t step(int64_t context, int64_t before, const std::vector<double> &hypers);

  /// Copies of the states, by NUMBER/NAME.
  c10::Dict<std::string, at::Tensor> states();
  /// Sets states by NUMBER/NAME, all or none of each parameter. Ignores states with a name in
  /// `optional` that the compiled rule doesn't have. Throws ValueError for other unknown states;
  /// then some states may already be set.
  void loadStates(const c10::Dict<std::string, at::Tensor> &states,
                  const std::vector<std::string> &optional);

private:
  /// Parameters of the same group and storage type.
  struct Bucket {
    size_t group;
    upd_dtype dtype;
    std::vector<size_t> params; ///< positions in the worker's list
    std::vector<int64_t> numbers;
    RulePointer rule;
    StoredStates states;
    c10::intrusive_ptr<GroupStepper> stepper;
  };

  class Step;

  void takeHypers(const std::vector<double> &hypers);
  /// Prepares a bucket to step from gradients of its parameters.
  void prepare(size_t bucket, const std::vector<at::Tensor> &grads);
  /// Refuses a gradient of a prepared bucket that shares memory with a parameter of any bucket.
  void requireOwnMemory(const Bucket &bucket) const;
  /// Refuses a group that is stepped in several parts, here or on several workers, by a rule that
  /// reduces over the whole group. Its buckets start at `first`.
  void requireTogether(const GroupRequest &group, size_t first) const;
  void addBucket(const OptimizerRequest &request, size_t group, upd_dtype dtype,
                 const std::vector<size_t> &members);

  std::shared_ptr<dist::StepProgress> progress = std::make_shared<dist::StepProgress>();
  // Constant after construction.
  std::vector<at::Tensor> params;
  dist::StorageLocks locks;
  std::vector<Bucket> buckets;
  /// The parameters' memory, with positions as owners, if there are several buckets.
  runtime::MemoryRanges memory;
  std::vector<int64_t> numbers;
  bool countVersions;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_LOCALOPTIMIZER_H
