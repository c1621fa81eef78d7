//===- Optimizer.h - Applying a compiled rule to tensors ----------------------------*- C++ -*-===//
// The step engine behind updraft-c/optimizer.h, whose comments are the contract. One thread at a
// time may use an optimizer. What returns a status that is not ok has changed nothing.
// std::bad_alloc may leave any function that does not say otherwise, with the same promise.

#ifndef UPDRAFT_RUNTIME_CPU_OPTIMIZER_H
#define UPDRAFT_RUNTIME_CPU_OPTIMIZER_H

#include "runtime/base/Kernels.h"
#include "runtime/cpu/GroupHypers.h"
#include "runtime/cpu/MemoryRanges.h"
#include "runtime/cpu/QuantBlocks.h"
#include "runtime/cpu/RowsRun.h"
#include "runtime/cpu/StateArena.h"
#include "runtime/cpu/StepPlan.h"
#include "runtime/cpu/TensorLayout.h"
#include "updraft-c/optimizer.h"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::runtime {

class SafetensorsFile;

class Optimizer {
public:
  /// `pool` may be null: the library's own.
  static Status create(std::shared_ptr<const Kernels> kernels, const upd_group *groups,
                       size_t groupCount, const upd_pool *pool, std::unique_ptr<Optimizer> &result);

  size_t paramCount() const { return params.size(); }
  size_t groupCount() const { return hypers.groupCount(); }
  const RuleInterface &interface() const { return kernels->interface; }
  const std::string &paramName(size_t param) const { return names[param]; }

  Status step(const upd_tensor *grads, size_t gradCount);
  Status stepRows(const upd_tensor *grads, size_t gradCount, const upd_row_grad *rowGrads,
                  size_t rowGradCount);
  /// The halves of stepRows.
  Status prepareRows(const upd_tensor *grads, size_t gradCount, const upd_row_grad *rowGrads,
                     size_t rowGradCount);
  Status apply();

  Status getHyper(size_t group, const char *name, double &value) const {
    return hypers.get(group, name, value);
  }
  Status setHyper(size_t group, const char *name, double value) {
    const upd_hyper hyper{name, value};
    return setHypers(group, &hyper, 1);
  }
  Status setHypers(size_t group, const upd_hyper *values, size_t count) {
    Status status = hypers.set(group, values, count);
    if (status.ok())
      prepared = Prepared::Nothing;
    return status;
  }

  Status getStep(size_t param, int64_t &step) const;
  /// Of all parameters.
  Status getSteps(int64_t *result, size_t count) const;
  Status setStep(size_t param, int64_t step);

  /// Of the random numbers; 0 until it is set. Saved and loaded.
  uint64_t getSeed() const { return seed; }
  void setSeed(uint64_t value);
  /// What stands for each parameter in its random numbers; its index until set. Not saved.
  Status setParamNumbers(const uint64_t *numbers, size_t count);

  Status state(size_t param, const char *name, upd_tensor &tensor) const;
  Status initialValue(size_t param, const char *name, double &value) const;
  Status bindState(size_t param, const char *name, const upd_tensor &tensor);

  Status save(const std::string &path) const;
  Status load(const std::string &path);

private:
  struct Param {
    void *data;
    TensorLayout layout;
    TensorShape shape;
    uint32_t group;
    uint32_t plan; // of the rule
  };
  /// Where a state of a parameter stands.
  enum class StateOrigin : uint8_t { None, Own, Bound };
  /// What `apply` finds. Its plan is discarded until then.
  enum class Prepared : uint8_t { Nothing, Rows, PlanAndRows };
  struct Loaded;
  /// What a look at a gradient needs, apart from what else is known of its parameter: a step reads
  /// it for each of them.
  struct ExpectedGrad {
    const void *checked = nullptr; // where one was last found to overlap none of `owned`
    int64_t size = 0;              // of the only dimension, if the rank is 1
    int32_t rank = 0;
  };
  /// What one look at gradients found.
  struct GradientScan {
    static constexpr size_t none = ~size_t(0);
    size_t bad = none;    // the first that is refused
    bool samePlan = true; // the plan of the last step fits
    bool changed = false; // some are elsewhere than when overlap was last looked for
  };

  Optimizer(std::shared_ptr<const Kernels> kernels, const upd_pool &pool);

  // Creation.
  Status addGroups(const upd_group *groups, size_t groupCount);
  Status addParam(const upd_tensor &tensor, const char *name, uint32_t group);
  Status choosePlan(Param &param) const;
  bool hasBlocks(TensorClass plan) const;
  void addStateLayouts();
  void addRowLayouts();
  void addScaleLayouts();
  Status checkNames() const;
  Status checkParamsApart();

  // The step, within the default floating-point environment. `besideSizes` is as for
  // StepPlan::clear.
  Status preparePlan(const upd_tensor *grads, size_t gradCount,
                     const std::vector<int64_t> &besideSizes);
  void applyPlan();
  GradientScan scanGradients(const upd_tensor *grads, size_t begin, size_t end) const;
  GradientScan scanGradients(const upd_tensor *grads) const;
  Status checkGradients(const upd_tensor *grads, bool &samePlan);
  Status gradientError(size_t param, const upd_tensor &grad) const;
  Status checkOverlap(const upd_tensor *grads) const;
  Status checkBoundStates(const upd_tensor *grads) const;
  Status checkBoundStates(size_t param) const;
  void buildPlan(const upd_tensor *grads, const std::vector<int64_t> &besideSizes);
  template <typename Body> void forNewStates(Body body);
  template <typename Body> void forNewGroupStates(Body body);
  Status createStates();
  void acceptStates();
  /// Has the next step look at everything anew; one that is prepared is given up.
  void discardPlan() {
    plan.discard();
    prepared = Prepared::Nothing;
  }

  // The step of some rows, likewise.
  Status prepareStep(const upd_tensor *grads, size_t gradCount, const upd_row_grad *rowGrads,
                     size_t rowGradCount);
  void applyStep();
  Status checkRowGradient(const upd_row_grad &rowGrad) const;
  Status checkRowIndices(const upd_row_grad &rowGrad) const;
  Status checkRowValues(const upd_row_grad &rowGrad) const;
  void addRowsRun(const upd_row_grad &rowGrad, const std::vector<int64_t> &groupSizes);
  void setRowStates(RowsRun &run) const;
  Status createRowStates(const InitialValues &initial);
  void commitRowStep(RowsRun &run);

  // Memory of states. What keepArena appends to has room after either of the others.
  void reserveForArena();
  Status allocateArena(size_t bytes, StateArena &arena);
  void keepArena(StateArena arena);

  // States.
  bool usesRandom() const;
  size_t stateCount() const { return kernels->interface.states.size(); }
  Status checkParam(size_t param) const;
  Status findState(const char *name, size_t &index) const;
  /// `STATE.scale`, of a state that has blocks.
  bool findScales(std::string_view name, size_t &index) const;
  Status viewState(size_t param, size_t index, bool ofScales, upd_tensor &tensor) const;
  /// UPD_NOT_FOUND if the parameter's class has no such state.
  Status checkOf(size_t param, size_t state) const;
  bool isShared(size_t state) const { return interface().states[state].over == Extent::Group; }
  /// The state is one of the parameter's class, and not its group's.
  bool isOwn(size_t param, size_t state) const;
  /// The state is one of the parameter's class or of its group.
  bool isOf(size_t param, size_t state) const;
  /// A state over a group has its slot with the first parameter of the group.
  size_t slotOf(size_t param, size_t state) const {
    const size_t holder = isShared(state) ? firstParams[params[param].group] : param;
    return holder * stateCount() + state;
  }
  /// The parameter is the one that a state's slot is with.
  bool holds(size_t param, size_t state) const {
    return isOf(param, state) && slotOf(param, state) == param * stateCount() + state;
  }
  TensorLayout layoutOf(size_t param, size_t state) const;
  size_t stateBytes(size_t param, size_t state) const;
  /// Of states of the parameter that have blocks.
  QuantBlocks blocksOf(size_t param) const {
    return {params[param].shape, interface().plans[params[param].plan].tensors};
  }
  /// Where the memory for states with such sizes goes, side by side.
  static size_t alignedBytes(size_t bytes) {
    return (bytes + StateArena::alignment - 1) / StateArena::alignment * StateArena::alignment;
  }
  /// All of the parameter's own states are there.
  bool hasStates(size_t param) const;
  /// It has states of its own.
  bool ownsStates(size_t param) const;
  /// Before a step the parameter has no state; for a rule without states, has taken no step.
  bool isFirst(size_t param) const;
  int64_t stepsOf(size_t param) const;
  void foldSteps();
  /// "parameter `w`", "state `m` of parameter `w`": whose memory it is.
  std::string ownerText(const MemoryRange &owner, const MemoryRange &intruder) const;

  // Saving and loading.
  Status checkStorage(const SafetensorsFile &file) const;
  Status collect(const std::string &path, Loaded &loaded) const;
  void commit(Loaded &loaded) noexcept;

  static constexpr uint32_t arenaOwner = ~uint32_t(0);
  static constexpr uint32_t paramPart = ~uint32_t(0);

  std::shared_ptr<const Kernels> kernels;
  upd_pool pool;
  GroupHypers hypers;

  std::vector<Param> params;
  std::vector<std::string> names;
  std::vector<int64_t> dimensions;      // shapes and strides of the parameters
  std::vector<size_t> firstParams;      // of each group
  std::vector<TensorLayout> rowLayouts; // of states over rows, by parameter; none if there are none
  std::vector<TensorLayout> columnLayouts;
  std::vector<TensorLayout> scaleLayouts; // of the scales of blocks, likewise
  std::vector<int64_t> stateDimensions;   // of those
  uint64_t seed = 0;
  std::vector<uint64_t> paramNumbers; // empty: their indices

  std::vector<int64_t> steps; // without those that the plan has taken
  int64_t planSteps = 0;      // taken by every tensor of the plan since it was made

  // By slot. A state that is not there may have memory, from a step that was skipped.
  std::vector<void *> statePointers;
  std::vector<StateOrigin> stateOrigins;
  std::vector<StateArena> arenas; // kept to the end: views of states point into them
  size_t boundStates = 0;

  MemoryRanges owned;                      // of parameters, bound states and arenas
  std::vector<ExpectedGrad> expectedGrads; // by parameter
  bool gradsChecked = true;                // or `owned` has changed since
  std::vector<uint32_t> changedGrads;      // parameters whose gradient is not that one

  StepPlan plan;

  // Of the step that is prepared.
  Prepared prepared = Prepared::Nothing;
  bool lackedStates = false;    // some tensors of the plan get theirs
  bool freshStates = false;     // their memory holds zeros
  std::deque<RowsRun> rowsRuns; // of the parameters with gradients of rows
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_OPTIMIZER_H
