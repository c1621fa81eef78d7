//===- CpuOptimizer.h - An optimizer of tensors on the CPU --------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CPU_CPUOPTIMIZER_H
#define UPDRAFT_RUNTIME_CPU_CPUOPTIMIZER_H

#include "runtime/cpu/RowsRun.h"
#include "runtime/cpu/StepPlan.h"
#include "runtime/optimizer/Optimizer.h"

#include <deque>
#include <memory>
#include <optional>

namespace updraft::runtime {

class CpuOptimizer final : public Optimizer {
public:
  /// `pool` may be null: the library's own threads.
  static Status create(const std::shared_ptr<const Kernels> &kernels, const upd_group *groups,
                       size_t groupCount, const upd_pool *pool, std::unique_ptr<Optimizer> &result);

  Status prepareStep(const StepGradients &gradients) override;
  /// Fails only if no step is prepared.
  Status applyStep(const upd_step_observer *observer) override;

  Status setStream(void *stream) override;
  Status getStep(size_t param, int64_t &step) override;
  Status getSteps(int64_t *result, size_t count) override;
  Status setStep(size_t param, int64_t step) override;
  Status bindStep(size_t param, const upd_tensor &count) override;

private:
  CpuOptimizer(const std::shared_ptr<const Kernels> &kernels, const upd_pool &pool);

  PlannedParams &planned() override { return *plan; }
  void foldSteps() override;
  Status replaceSteps(std::vector<int64_t> counts) override;
  Status allocateStates(size_t bytes, StateArena &memory) override;
  Status readMemory(void *to, const void *from, size_t bytes) const override;
  Status writeMemory(void *to, const void *from, size_t bytes) override;
  void hyperSourcesChanged() override {}

  // The step of whole parameters, called in the default floating-point environment. `besideSizes`
  // is as for StepPlan::clear.
  /// The hyperparameters of the prepared step.
  const GroupHypers &stepHypers() const { return hyperSources.empty() ? hypers : hypersRead; }
  Status preparePlan(const StepGradients &gradients, const std::vector<int64_t> &besideSizes);
  void buildPlan(const std::vector<int64_t> &besideSizes, bool isProbed);
  void setGrad(size_t param);
  void choosePlan(bool isSame, bool isProbed, const std::vector<int64_t> &besideSizes);
  void recordProbes() const;
  void countPlanStep();
  template <typename Body> void forNewStates(Body body);
  template <typename Body> void forNewGroupStates(Body body);
  Status createStates();

  // The step of some rows, called in the same environment.
  Status prepareRows(const StepGradients &gradients, std::vector<int64_t> &listedSizes);
  Status checkIndexValues(const upd_row_grad &rowGrad) const override;
  void addRowsRun(const upd_row_grad &rowGrad, const std::vector<int64_t> &groupSizes);
  void setRowStates(RowsRun &run) const;
  Status createRowStates(const InitialValues &initial);
  void commitRowStep(RowsRun &run);

  /// Whether the parameter's next step is its first: its own states don't exist or, if it has none
  /// of its own, its step count is 0.
  bool isFirst(size_t param) const;
  int64_t stepsOf(size_t param) const;
  Status refuseStepBeyond(size_t param) const;
  Status checkPlanSteps() const;

  std::vector<int64_t> steps; // without `planSteps`
  int64_t planSteps = 0;      // steps of every tensor of the plan that aren't in `steps` yet
  int64_t planLargest = 0;    // the largest of `steps` when the plan was built

  std::unique_ptr<StepPlan> plan;
  /// That of the other kind of steps, probed or not; null until there was such a step.
  std::unique_ptr<StepPlan> otherPlan;
  /// The steps that `otherPlan` hasn't counted. Empty: it isn't of the same parameters.
  std::optional<int64_t> otherBehind;

  // The prepared step.
  GroupHypers hypersRead;       // used if some are bound
  bool lackedStates = false;    // some tensors of the plan get states
  bool freshStates = false;     // their memory holds zeros
  std::deque<RowsRun> rowsRuns; // one for each row gradient
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_CPUOPTIMIZER_H
