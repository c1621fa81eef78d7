//===- DeviceOptimizer.h - An optimizer of tensors on a device ----------------------*- C++ -*-===//
// A step is queued on a stream. Unless the host computes functions of matrices, it doesn't wait,
// and the host doesn't know whether it was skipped. Step counts, and whether a step is a
// parameter's first, are in the device's memory, and are read on request.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICEOPTIMIZER_H
#define UPDRAFT_RUNTIME_GPU_DEVICEOPTIMIZER_H

#include "runtime/gpu/DeviceStep.h"
#include "runtime/optimizer/InitialValues.h"
#include "runtime/optimizer/Optimizer.h"

#include <optional>

namespace updraft::gpu {

class DeviceOptimizer final : public runtime::Optimizer {
public:
  /// `where` is the C API's device of the tensors. `pool` may be null: the library's own.
  /// UPD_UNSUPPORTED: a matrix has too many rows or columns for a kernel.
  static runtime::Status create(std::shared_ptr<Device> device, runtime::TensorDevice where,
                                std::shared_ptr<const runtime::Kernels> kernels,
                                const upd_group *groups, size_t groupCount, const upd_pool *pool,
                                std::unique_ptr<runtime::Optimizer> &result);

  /// The host doesn't know the values of indices. The device skips rows that the parameter doesn't
  /// have, or that aren't in ascending order. UPD_UNSUPPORTED: rows, or parameters with calls of
  /// the host, while a graph is captured.
  runtime::Status prepareStep(const runtime::StepGradients &gradients) override;
  /// Doesn't call `observer`, because the host doesn't know which parameters the device steps.
  runtime::Status applyStep(const upd_step_observer *observer) override;

  runtime::Status setStream(void *queue) override;
  runtime::Status getStep(size_t param, int64_t &step) override;
  runtime::Status getSteps(int64_t *result, size_t count) override;
  runtime::Status setStep(size_t param, int64_t step) override;
  runtime::Status bindStep(size_t param, const upd_tensor &count) override;

private:
  /// The progress of the parameters in the device's memory: a step count for each, then for each
  /// whether its first step is still to come.
  struct Progress {
    runtime::StateArena memory; ///< allocated by the first step
    std::vector<int64_t> steps; ///< the host's copy
    std::vector<char> firsts;
    bool isKnown = true; ///< the host's copy is up to date
  };
  /// The initial values of states, and the hyperparameters of all groups that determine them.
  struct Filled {
    runtime::InitialValues values;
    std::vector<double> hypers;
  };
  struct BoundCount {
    void *data = nullptr; ///< null: in `progress`
    upd_dtype dtype = UPD_F64;
  };

  DeviceOptimizer(std::shared_ptr<Device> device, runtime::TensorDevice where,
                  std::shared_ptr<const runtime::Kernels> kernels, const upd_pool &pool);

  runtime::PlannedParams &planned() override { return plan; }
  runtime::Status waitForSteps() override { return gpu->wait(stream); }
  runtime::Status settleStates() override;
  runtime::Status replaceSteps(std::vector<int64_t> counts) override;
  runtime::Status allocateStates(size_t bytes, runtime::StateArena &memory) override;
  runtime::Status readMemory(void *to, const void *from, size_t bytes) const override;
  runtime::Status writeMemory(void *to, const void *from, size_t bytes) override;
  void hyperSourcesChanged() override { discardPlan(); }
  runtime::Status statesBound(size_t param) override;

  runtime::Status checkMatrices() const;
  /// Makes `to` the step for the gradients, and writes its tables.
  runtime::Status build(DeviceStep &to, Stream setup, bool isProbed);
  runtime::Status ringForDevice(ProbeRecord &ring);
  runtime::Status createStates(Stream setup);
  runtime::Status fill(const std::vector<Fill> &fills, Stream setup);
  void addFills(size_t param, size_t state, void *data, const runtime::InitialValues &initial,
                std::vector<Fill> &to) const;
  /// The hyperparameters of all groups.
  std::vector<double> allHypers() const;
  Filled initialValues() const;
  runtime::Status renewStates();
  bool lacksStates(size_t param) const;
  runtime::Status checkCapture(bool isProbed) const;
  std::vector<KnownProgress> knownProgress() const;
  bool takesPart(size_t param) const { return gradOf(param) || isListed[param]; }
  void addTensor(size_t param, DeviceStep &to);
  void listRows(const upd_row_grad *rowGrads, size_t rowGradCount);
  runtime::Status setRows(const upd_row_grad *rowGrads, size_t rowGradCount);
  runtime::Status updateStep();
  runtime::Status writeProgress(Stream setup);
  runtime::Status writeFirst(size_t param);
  runtime::Status readProgress();
  runtime::Status readBoundCounts(size_t begin, size_t end);
  runtime::Status writeCount(size_t param);
  double *countOf(size_t param) const;
  double *firstOf(size_t param) const;
  void lendMemory(const runtime::StepGradients &gradients);

  std::shared_ptr<Device> gpu;
  EngineKernels engine;
  Stream stream = nullptr;
  runtime::PlannedParams plan;
  std::unique_ptr<DeviceStep> current;
  /// The prepared step: `current`, or one for a graph, which keeps it.
  DeviceStep *next = nullptr;
  std::vector<std::unique_ptr<DeviceStep>> captured;
  DeviceArena fills, fillsOfGraphs;
  std::optional<Filled> filled; ///< the last initial values of new states

  // Parameters with gradients of some rows.
  std::vector<uint32_t> listed;       ///< in the prepared step, in ascending order
  std::vector<char> isListed;         ///< by parameter
  std::vector<uint32_t> plannedRows;  ///< the same for `current`
  std::vector<uint32_t> rowPositions; ///< by parameter: the position of these in their plans
  std::vector<const void *> noGrads;  ///< for all parameters; empty until needed

  runtime::StateArena probeCounter; ///< allocated by the first probed step
  Progress progress;
  /// The host counts steps itself, to know which calls a step needs, and no step is skipped unless
  /// infinities were found.
  bool countsOnHost = false;
  std::vector<BoundCount> boundCounts; ///< by parameter
  std::vector<uint32_t> firstParams;   ///< parameters of the prepared step without states
  std::vector<uint32_t> pending;       ///< their first step was queued, but its result not yet read
  std::vector<char> isPending;         ///< by parameter
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICEOPTIMIZER_H
