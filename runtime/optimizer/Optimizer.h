//===- Optimizer.h - Applying a compiled rule to tensors ----------------------------*- C++ -*-===//
// What is behind updraft-c/optimizer.h, whose comments are the contract: here all that is the same
// wherever the tensors are; runtime/cpu/CpuOptimizer.h and runtime/gpu/DeviceOptimizer.h step them.
// One thread at a time may use an optimizer. What returns a status that is not ok has changed
// nothing, but for a load that says otherwise. std::bad_alloc may leave any function that does not
// say otherwise, with the same promise.

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_OPTIMIZER_H
#define UPDRAFT_RUNTIME_OPTIMIZER_OPTIMIZER_H

#include "runtime/base/Kernels.h"
#include "runtime/base/MemoryRanges.h"
#include "runtime/optimizer/GroupHypers.h"
#include "runtime/optimizer/PlannedParams.h"
#include "runtime/optimizer/QuantBlocks.h"
#include "runtime/optimizer/StateArena.h"
#include "runtime/optimizer/StepGradients.h"
#include "runtime/optimizer/TensorDevice.h"
#include "runtime/optimizer/TensorLayout.h"
#include "runtime/optimizer/TensorShape.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::runtime {

class SafetensorsFile;

/// The largest step count. Kernels count in f64, where the one after it is the same number: the CPU
/// refuses a step there, and a device, which counts by itself, stays at it.
constexpr int64_t maxStep = int64_t(1) << 53;

class Optimizer {
public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer &) = delete;
  Optimizer &operator=(const Optimizer &) = delete;

  size_t paramCount() const { return params.size(); }
  size_t groupCount() const { return hypers.groupCount(); }
  const RuleInterface &interface() const { return kernels->interface; }
  const std::string &paramName(size_t param) const { return names[param]; }

  /// The two halves of every step.
  virtual Status prepare(const StepGradients &gradients) = 0;
  virtual Status apply(const upd_step_observer *observer) = 0;
  Status step(const upd_tensor *grads, size_t gradCount) {
    return step({.tensors = grads, .count = gradCount});
  }
  Status stepRows(const upd_tensor *grads, size_t gradCount, const upd_row_grad *rowGrads,
                  size_t rowGradCount) {
    return step(StepGradients::withRows(grads, gradCount, rowGrads, rowGradCount));
  }

  virtual Status setStream(void *stream) = 0;
  /// Null: none.
  Status bindFoundInf(const upd_tensor *found);

  Status getHyper(size_t group, const char *name, double &value) const {
    return hypers.get(group, name, value);
  }
  Status setHyper(size_t group, const char *name, double value) {
    const upd_hyper hyper{name, value};
    return setHypers(group, &hyper, 1);
  }
  Status setHypers(size_t group, const upd_hyper *values, size_t count);
  /// Takes any value of a hyperparameter from now on.
  void ignoreRequirements() { hypers.ignoreRequirements(); }
  /// Null: not any more.
  Status bindHyper(size_t group, const char *name, const upd_tensor *value);

  virtual Status getStep(size_t param, int64_t &step) = 0;
  /// Of all parameters.
  virtual Status getSteps(int64_t *result, size_t count) = 0;
  virtual Status setStep(size_t param, int64_t step) = 0;
  virtual Status bindStep(size_t param, const upd_tensor &count) = 0;

  /// Of the random numbers; 0 until it is set. Saved and loaded.
  uint64_t getSeed() const { return seed; }
  void setSeed(uint64_t value);
  /// What stands for each parameter in its random numbers; its index until set. Not saved.
  Status setParamNumbers(const uint64_t *numbers, size_t count);

  Status state(size_t param, const char *name, upd_tensor &tensor);
  Status initialValue(size_t param, const char *name, double &value) const;
  Status bindState(size_t param, const char *name, const upd_tensor &tensor);

  Status save(const std::string &path);
  Status load(const std::string &path);

protected:
  struct Param {
    void *data;
    TensorLayout layout;
    TensorShape shape;
    uint32_t group;
    uint32_t plan; // of the rule
  };
  /// Where a state of a parameter stands.
  enum class StateOrigin : uint8_t { None, Own, Bound };
  /// What `apply` finds: with Plan, gradients of whole parameters and perhaps of rows. The plan is
  /// discarded until then.
  enum class Prepared : uint8_t { Nothing, Rows, Plan };
  /// Where a hyperparameter is read at each step.
  struct HyperSource {
    size_t group, hyper;
    const void *data;
    upd_dtype dtype;
  };

  Optimizer(std::shared_ptr<const Kernels> kernels, TensorDevice device, const upd_pool &pool);

  static Status checkArguments(const upd_group *groups, size_t groupCount, const upd_pool *pool);
  /// Everything that an optimizer starts with.
  Status addGroups(const upd_group *groups, size_t groupCount);

  //===--------------------------------------------------------------------------------------===//
  // What depends on where the tensors are
  //===--------------------------------------------------------------------------------------===//

  virtual PlannedParams &planned() = 0;
  /// Before a plan is discarded, and before step counts are asked for: those that are kept with the
  /// plan are counted.
  virtual void foldSteps() {}
  /// Waits for what was given to the device, which may be refused.
  virtual Status waitForSteps() { return {}; }
  /// Before states are asked for: finds out which new ones are there by now.
  virtual Status settleStates() { return {}; }
  /// Steps are counted from these on. Nothing fails on the CPU.
  virtual Status replaceSteps(std::vector<int64_t> counts) = 0;
  /// `memory` holds zeros.
  virtual Status allocateStates(size_t bytes, StateArena &memory) = 0;
  /// Between memory of the host and where the tensors are.
  virtual Status readMemory(void *to, const void *from, size_t bytes) const = 0;
  virtual Status writeMemory(void *to, const void *from, size_t bytes) = 0;
  virtual void hyperSourcesChanged() = 0;
  /// A state of a parameter is the caller's from now on. What fails is done as if it were not.
  virtual Status statesBound(size_t param) { return {}; }
  /// Of rows: those that the host can look at. As many as the gradient says are there.
  virtual Status checkIndexValues(const upd_row_grad &rowGrad) const { return {}; }

  //===--------------------------------------------------------------------------------------===//
  // Gradients
  //===--------------------------------------------------------------------------------------===//

  /// Refuses the gradients of whole parameters that no step takes. `samePlan`: the plan of the last
  /// step fits.
  Status checkGradients(const StepGradients &gradients, bool &samePlan);
  /// The first element of a parameter's gradient; null if it has none. From checkGradients until
  /// `prepare` returns. A gradient without elements has an address as well.
  void *gradOf(size_t param) const { return const_cast<void *>(gradAddresses[param]); }
  Status checkBoundStates(size_t param) const;
  /// Refuses gradients of rows that no step takes beside the others.
  Status checkRowGradients(const StepGradients &gradients);
  /// Gradients that are elsewhere than in the step before.
  const std::vector<uint32_t> &movedGrads() const { return changedGrads; }
  /// They are where they are expected from now on.
  void acceptGradients();
  /// Refuses states that a load has left half done.
  Status checkWhole() const;
  /// Refuses what is no number where the tensors are.
  Status checkNumber(const upd_tensor &tensor, const std::string &subject) const;

  //===--------------------------------------------------------------------------------------===//
  // States
  //===--------------------------------------------------------------------------------------===//

  /// Those that were set, and those that are read as they are now. Refuses what the rule does.
  Status hypersNow(GroupHypers &result) const;
  bool usesRandom() const;
  size_t stateCount() const { return kernels->interface.states.size(); }
  Status checkParam(size_t param) const;
  static Status checkStepCount(int64_t step);
  /// Refuses another number of step counts than there are.
  Status checkAskedSteps(size_t count) const;
  Status findState(const char *name, size_t &index) const;
  /// UPD_NOT_FOUND if the parameter's class has no such state.
  Status checkOf(size_t param, size_t state) const;
  bool isShared(size_t state) const { return interface().states[state].over == Extent::Group; }
  /// The state is one of the parameter's class, and not its group's.
  bool isOwn(size_t param, size_t state) const;
  /// The state is one of the parameter's class or of its group.
  bool isOf(size_t param, size_t state) const;
  /// A state over a group has its slot with the first parameter of the group.
  size_t slotOf(size_t param, size_t state) const {
    const size_t holder = isShared(state) ? groupStarts[params[param].group] : param;
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
  /// The states of a parameter, and those of its group that its plan writes, are there by now.
  void acceptStates(size_t param);
  /// "parameter `w`", "state `m` of parameter `w`": whose memory it is.
  std::string ownerText(const MemoryRange &owner, const MemoryRange &intruder) const;
  /// Has the next step look at everything anew; one that is prepared is given up.
  void discardPlan() {
    planned().discard();
    prepared = Prepared::Nothing;
  }

  // Memory of states. What keepArena appends to has room after the other.
  Status allocateArena(size_t bytes, StateArena &arena);
  void keepArena(StateArena arena);

  std::shared_ptr<const Kernels> kernels;
  TensorDevice device; // that all tensors are on
  upd_pool pool;
  GroupHypers hypers;
  std::vector<HyperSource> hyperSources;
  const float *foundInf = nullptr; // where the tensors are
  uint64_t seed = 0;
  std::vector<uint64_t> paramNumbers; // empty: their indices

  std::vector<Param> params;
  std::vector<std::string> names;

  // By slot. A state that is not there may have memory, from a step that was skipped.
  std::vector<void *> statePointers;
  std::vector<StateOrigin> stateOrigins;

  MemoryRanges owned; // of parameters, bound states and arenas
  Prepared prepared = Prepared::Nothing;

private:
  struct Loaded;
  /// The rank of a parameter, and its size if that is its only dimension: what the check of most
  /// gradients needs, apart from what else is known of their parameters.
  struct ExpectedShape {
    int64_t size = 0;
    int32_t rank = 0;
  };

  // Creation.
  Status addParam(const upd_tensor &tensor, const char *name, uint32_t group);
  Status choosePlan(Param &param) const;
  bool hasBlocks(TensorClass plan) const;
  void addStateLayouts();
  void addRowLayouts();
  void addScaleLayouts();
  Status checkNames() const;
  Status checkParamsApart();

  // Gradients.
  Status step(const StepGradients &gradients);
  size_t findRefused(const upd_tensor *grads, size_t begin, size_t end);
  Status checkTensors(const upd_tensor *grads);
  Status checkAddresses(const void *const *grads) const;
  Status checkGradient(size_t param, const upd_tensor &grad) const;
  Status checkOverlap() const;
  Status checkRowGradient(const upd_row_grad &rowGrad);
  Status checkRowIndices(const upd_row_grad &rowGrad) const;
  Status checkRowValues(const upd_row_grad &rowGrad) const;

  /// `STATE.scale`, of a state that has blocks.
  bool findScales(std::string_view name, size_t &index) const;
  Status viewState(size_t param, size_t index, bool ofScales, upd_tensor &tensor) const;

  // Saving and loading.
  Status checkStorage(const SafetensorsFile &file) const;
  Status collect(const std::string &path, Loaded &loaded);
  Status writeLoaded(const Loaded &loaded, bool areNew);
  Status commit(Loaded &loaded);
  Status onHost(const void *&data, size_t bytes, std::vector<char> &copy) const;

  static constexpr uint32_t arenaOwner = ~uint32_t(0);
  static constexpr uint32_t paramPart = ~uint32_t(0);

  std::vector<int64_t> dimensions;      // shapes and strides of the parameters
  std::vector<size_t> groupStarts;      // the first parameter of each group
  std::vector<TensorLayout> rowLayouts; // of states over rows, by parameter; none if there are none
  std::vector<TensorLayout> columnLayouts;
  std::vector<TensorLayout> scaleLayouts; // of the scales of blocks, likewise
  std::vector<int64_t> stateDimensions;   // of those

  std::string halfLoaded; // the path of a file whose load has failed half-way

  std::vector<StateArena> arenas; // kept to the end: views of states point into them
  size_t boundStates = 0;

  std::vector<ExpectedShape> expectedShapes; // of gradients, by parameter
  std::vector<const void *> ownAddresses;    // of gradients that are given as tensors, by parameter
  const void *const *gradAddresses = nullptr;
  std::vector<const void *> checkedGrads; // where one was last found to overlap none of `owned`
  bool gradsChecked = true;               // or `owned` has changed since
  std::vector<uint32_t> changedGrads;     // parameters whose gradient is not that one
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_OPTIMIZER_H
