//===- DeviceOptimizer.h - An optimizer of tensors on a device ----------------------*- C++ -*-===//
// A step is given to a stream, and not waited for. So the host does not know whether it was taken:
// step counts, and whether a step is a parameter's first, are in the device's memory, and read when
// someone asks.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICEOPTIMIZER_H
#define UPDRAFT_RUNTIME_GPU_DEVICEOPTIMIZER_H

#include "runtime/gpu/DeviceStep.h"
#include "runtime/optimizer/InitialValues.h"
#include "runtime/optimizer/Optimizer.h"

#include <optional>

namespace updraft::gpu {

class DeviceOptimizer final : public runtime::Optimizer {
public:
  /// `where` is what tensors of the C API call the device. `pool` may be null: the library's own.
  static runtime::Status create(std::shared_ptr<Device> device, runtime::TensorDevice where,
                                std::shared_ptr<const runtime::Kernels> kernels,
                                const upd_group *groups, size_t groupCount, const upd_pool *pool,
                                std::unique_ptr<runtime::Optimizer> &result);

  /// The host does not know the values of indices: the device leaves out rows that the parameter
  /// does not have, or that do not ascend. UPD_UNSUPPORTED for rows while a graph is captured.
  runtime::Status prepare(const runtime::StepGradients &gradients) override;
  /// `observer` is told of nothing: the host does not know which parameters the device steps.
  runtime::Status apply(const upd_step_observer *observer) override;

  runtime::Status setStream(void *queue) override;
  runtime::Status getStep(size_t param, int64_t &step) override;
  runtime::Status getSteps(int64_t *result, size_t count) override;
  runtime::Status setStep(size_t param, int64_t step) override;
  runtime::Status bindStep(size_t param, const upd_tensor &count) override;

private:
  /// What the device knows of how far the parameters are, in its memory: for each a step count,
  /// then for each whether its first step is still to come.
  struct Progress {
    runtime::StateArena memory; ///< from the first step on
    std::vector<int64_t> steps; ///< as the host knows them
    std::vector<char> firsts;
    bool isKnown = true; ///< the device's are the same
  };
  /// The values that states start from, with the hyperparameters of all groups that they follow
  /// from.
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

  /// Makes `to` the step of the gradients, and writes what it needs.
  runtime::Status build(DeviceStep &to, Stream setup);
  runtime::Status createStates(Stream setup);
  runtime::Status fill(const std::vector<Fill> &fills, Stream setup);
  void addFills(size_t param, size_t state, void *data, const runtime::InitialValues &initial,
                std::vector<Fill> &to) const;
  /// Of all groups.
  std::vector<double> allHypers() const;
  Filled initialValues() const;
  runtime::Status renewStates();
  bool lacksStates(size_t param) const;
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
  /// The one that is prepared: `current`, or one for a graph, which has it to the end.
  DeviceStep *next = nullptr;
  std::vector<std::unique_ptr<DeviceStep>> captured;
  DeviceArena fills, fillsOfGraphs;
  std::optional<Filled> filled; ///< what new states were filled with last

  // Parameters with gradients of some rows.
  std::vector<uint32_t> listed;       ///< in the step that is prepared, in ascending order
  std::vector<char> isListed;         ///< by parameter
  std::vector<uint32_t> plannedRows;  ///< in `current`, likewise
  std::vector<uint32_t> rowPositions; ///< by parameter: of those, in their plans
  std::vector<const void *> noGrads;  ///< of all parameters; empty until it is needed

  Progress progress;
  std::vector<BoundCount> boundCounts; ///< by parameter
  std::vector<uint32_t> firstParams;   ///< of the step that is prepared: those without states
  std::vector<uint32_t> pending;       ///< a first step was given, and not asked for since
  std::vector<char> isPending;         ///< by parameter
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICEOPTIMIZER_H
