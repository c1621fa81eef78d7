//===- StepPlan.h - A step as lists of tensors --------------------------------------*- C++ -*-===//
// Each parameter with a gradient is in the list of the plan for its class of tensors. The lists
// don't change as long as the same parameters have gradients: only pointers and rows are updated.

#ifndef UPDRAFT_RUNTIME_CPU_STEPPLAN_H
#define UPDRAFT_RUNTIME_CPU_STEPPLAN_H

#include "runtime/base/Kernels.h"
#include "runtime/cpu/PlanRun.h"
#include "runtime/optimizer/GroupHypers.h"
#include "runtime/optimizer/InitialValues.h"
#include "runtime/optimizer/PlannedParams.h"
#include "updraft-c/optimizer.h"

#include <deque>
#include <memory>
#include <vector>

namespace updraft::runtime {

class StepPlan : public PlannedParams {
public:
  explicit StepPlan(std::shared_ptr<const Kernels> kernels);

  /// Removes all parameters, and sets the numbers of parameters and groups. `besideSizes` has, for
  /// each group, the elements of parameters that take part in the step but not in the plan. Empty:
  /// none. `probed`: the plans for probed steps run.
  void clear(size_t paramCount, size_t groupCount, const std::vector<int64_t> &besideSizes,
             bool probed);
  /// Appends a parameter to the list of a plan, in ascending order. Its stream pointers are null
  /// until set.
  void add(uint32_t param, size_t plan, const TensorShape &shape, const PrologueRows::Key &key);
  /// `numbers` are the parameters' numbers in random numbers. Empty: their indices.
  void finish(uint64_t seed, const std::vector<uint64_t> &numbers);

  bool isProbed() const { return probed; }
  const std::vector<int64_t> &besideSizes() const { return beside; }
  /// One for each plan of the rule.
  std::deque<PlanRun> &runs() { return planRuns; }
  const std::deque<PlanRun> &runs() const { return planRuns; }

  /// Evaluates initial values, and the prologues before the first sweep.
  void start(const GroupHypers &hypers, const upd_pool &pool);
  bool hasFirst() const;
  bool hasSkipped() const;
  /// Whether a tensor is at its first step, or a state over a tensor or group has no memory.
  bool lacksStates() const;

  /// Runs all stages, then stores the scalar states. `fresh`: the memory of new states holds zeros.
  void run(const GroupHypers &hypers, const upd_pool &pool, bool fresh,
           const upd_step_observer *observer);

  /// Advances the rows by some steps, of which none skipped a tensor.
  void advance(int64_t count);

private:
  struct Member {
    uint32_t run;
    uint32_t position;
  };

  void orderGroups();
  void combineGroups();
  void commitScalars();

  std::shared_ptr<const Kernels> kernels;
  std::deque<PlanRun> planRuns;
  std::vector<int64_t> groupSizes; // elements that take part
  std::vector<int64_t> beside;     // those that aren't in the plan
  InitialValues initial;
  bool probed = false;

  // For rules with reductions or states over groups.
  std::vector<ReductionInterface::Kind> groupReductions;
  size_t combined = 0;
  bool hasGroupStates = false;
  std::vector<Member> members;      // by group, in the order of parameters
  std::vector<size_t> groupStarts;  // in `members`, and the end
  std::vector<double> groupScratch; // of the members of one group
  std::vector<double> groupValues;  // of each group
  std::vector<PrologueRows::GroupRow> lowestRows;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_STEPPLAN_H
