//===- DeviceStep.h - A step of all parameters on a device --------------------------*- C++ -*-===//
// What StepPlan is for the CPU: the parameters with a gradient, each in the list of the plan that
// is for its class of tensors. A step is a number of launches, and waits for nothing: step counts,
// hyperparameters and scalars are in the device's memory. One thread at a time.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICESTEP_H
#define UPDRAFT_RUNTIME_GPU_DEVICESTEP_H

#include "runtime/gpu/DevicePlan.h"
#include "runtime/gpu/DeviceRows.h"

#include <deque>

namespace updraft::gpu {

class DeviceStep {
public:
  /// UPD_UNSUPPORTED if the rule was compiled for another kind of device.
  static runtime::Status create(std::shared_ptr<Device> device,
                                std::shared_ptr<const runtime::Kernels> kernels,
                                std::unique_ptr<DeviceStep> &result);

  /// Starts over, for groups numbered below this, without tensors and sources of hyperparameters.
  void clear(size_t groupCount);
  /// Plans in the order of the rule's interface; tensors and their memory are added there.
  std::deque<DevicePlan> &plans() { return planList; }
  /// Makes the tables, and writes them. `hypers` are those of each group, side by side.
  runtime::Status finish(const std::vector<double> &hypers, uint64_t seed, Stream stream);

  /// For the next step, of tensors that are stepped by rows: those of each plan, in its order. What
  /// was there before is gone.
  runtime::Status setRows(const std::vector<std::vector<SteppedRows>> &rows, Stream stream);

  /// From the next step on.
  runtime::Status setHypers(size_t group, const double *values, Stream stream);
  /// Reads a hyperparameter from the device's memory at each step: f32, f64, bf16 or f16. Before
  /// finish.
  void setHyperSource(size_t group, size_t hyper, const void *data, upd_dtype dtype);

  /// Launches one step. Where `foundInf`, on the device, is there and not 0, nothing changes.
  runtime::Status run(const float *foundInf, Stream stream);

private:
  DeviceStep(std::shared_ptr<Device> device, std::shared_ptr<const runtime::Kernels> kernels);

  /// A tensor by its plan and its position there.
  struct Member {
    uint32_t plan;
    uint32_t position;
  };

  void orderGroups();
  void reserveGroups();
  void fillGroups();
  runtime::Status combineGroups(Stream stream);

  std::shared_ptr<Device> device;
  std::shared_ptr<const runtime::Kernels> kernels;
  std::shared_ptr<Module> module;
  EngineKernels engine;
  std::deque<DevicePlan> planList;
  std::deque<DeviceRows> rowsOfPlans;
  size_t groupCount = 0;
  std::vector<int64_t> groupSizes;
  std::vector<runtime::ReductionInterface::Kind> groupReductions;
  std::vector<uint32_t> groupStates;

  DeviceArena tables, scratch;
  Table<double> hyperTable;
  Table<HyperSource> sourceTable;
  /// By the place of the hyperparameter in `hyperTable`.
  std::map<size_t, HyperSource> sources;
  std::vector<std::vector<Member>> members;          ///< of each group, in the order of parameters
  std::vector<Table<GroupMember>> memberTables;      ///< by reduction, then group
  std::vector<Table<GroupCombination>> combinations; ///< by reduction
  Table<double> groupScratch;
  std::vector<Table<GroupCandidate>> candidates; ///< by state, then group
  Table<GroupCommit> groupCommits;
  size_t combined = 0;
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICESTEP_H
