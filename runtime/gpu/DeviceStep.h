//===- DeviceStep.h - A step of all parameters on a device --------------------------*- C++ -*-===//
// The counterpart of StepPlan for the CPU: the parameters with a gradient, each in the plan for its
// class of tensors. A step is a sequence of launches. It waits only for functions of matrices that
// the host computes. Step counts, hyperparameters and scalars are in the device's memory. Only one
// thread at a time.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICESTEP_H
#define UPDRAFT_RUNTIME_GPU_DEVICESTEP_H

#include "runtime/gpu/DevicePlan.h"
#include "runtime/gpu/DeviceRows.h"

#include <deque>

namespace updraft::gpu {

class DeviceStep {
public:
  /// UPD_UNSUPPORTED: the rule was compiled for another kind of device.
  static runtime::Status create(std::shared_ptr<Device> device,
                                std::shared_ptr<const runtime::Kernels> kernels,
                                const upd_pool &pool, std::unique_ptr<DeviceStep> &result);

  /// Removes all tensors and sources of hyperparameters. Groups have numbers below `groupCount`.
  /// Tensors are then added to the plans for probed steps if `ring` isn't null; its `tensors` are
  /// set by `finish`.
  void clear(size_t groupCount, const ProbeRecord *ring);
  bool isProbed() const { return probed; }
  /// Plans in the order of the rule's interface. Tensors and their memory are added there.
  std::deque<DevicePlan> &plans() { return planList; }
  /// Creates and writes the tables. `hypers` has the hyperparameters of each group, contiguously.
  runtime::Status finish(const std::vector<double> &hypers, uint64_t seed, Stream stream);

  /// Sets the tensors of the next step that are stepped by rows, for each plan in order. Replaces
  /// the previous ones.
  runtime::Status setRows(const std::vector<std::vector<SteppedRows>> &rows, Stream stream);

  /// Takes effect with the next step.
  runtime::Status setHypers(size_t group, const double *values, Stream stream);
  /// Makes each step read a hyperparameter from the device's memory: f32, f64, bf16 or f16. Call it
  /// before finish.
  void setHyperSource(size_t group, size_t hyper, const void *data, upd_dtype dtype);

  /// Launches one step. If `foundInf`, on the device, isn't null and its value isn't 0, nothing
  /// changes. `progress` is by parameter; empty: the host knows none. Waits for the device if a
  /// call of the host is needed, or if the host doesn't know whether one is.
  runtime::Status run(const float *foundInf, const std::vector<KnownProgress> &progress,
                      Stream stream);

private:
  DeviceStep(std::shared_ptr<Device> device, std::shared_ptr<const runtime::Kernels> kernels,
             const upd_pool &pool);

  /// A tensor, by its plan and its position there.
  struct Member {
    uint32_t plan;
    uint32_t position;
  };

  void orderGroups();
  /// Lists the tensors of a probed step in the order of their parameters.
  void reserveProbes();
  void fillProbes();
  runtime::Status recordProbes(const float *foundInf, Stream stream);
  void reserveGroups();
  void fillGroups();
  runtime::Status combineGroups(Stream stream);

  std::shared_ptr<Device> device;
  std::shared_ptr<const runtime::Kernels> kernels;
  upd_pool pool; ///< computes calls of the host
  std::shared_ptr<Module> module;
  EngineKernels engine;
  std::deque<DevicePlan> planList;
  std::deque<DeviceRows> rowsOfPlans;
  size_t groupCount = 0;
  std::vector<int64_t> groupSizes;
  std::vector<runtime::ReductionInterface::Kind> groupReductions;
  std::vector<uint32_t> groupStates;

  bool probed = false;
  ProbeRecord ringOfProbes{};
  std::vector<Member> probedMembers;

  DeviceArena tables, scratch;
  Table<ProbedTensor> probedTable;
  Table<ProbeRecord> recordTable;
  Table<double> hyperTable;
  Table<HyperSource> sourceTable;
  /// By the index of the hyperparameter in `hyperTable`.
  std::map<size_t, HyperSource> sources;
  std::vector<std::vector<Member>> members;          ///< by group, in the order of parameters
  std::vector<Table<GroupMember>> memberTables;      ///< by reduction, then by group
  std::vector<Table<GroupCombination>> combinations; ///< by reduction
  Table<double> groupScratch;
  std::vector<Table<GroupCandidate>> candidates; ///< by state, then by group
  Table<GroupCommit> groupCommits;
  size_t combined = 0;
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICESTEP_H
