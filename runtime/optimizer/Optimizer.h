//===- Optimizer.h - Applying a compiled rule to tensors ----------------------------*- C++ -*-===//
// Implements updraft-c/optimizer.h, whose comments are the contract, except for steps: these are in
// runtime/cpu/CpuOptimizer.h and runtime/gpu/DeviceOptimizer.h. One thread at a time may use an
// optimizer. Functions that return an error have changed no parameters, states or settings, unless
// a device failed during a load or a step. Unless documented otherwise, functions may throw
// std::bad_alloc, with the same guarantee.

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_OPTIMIZER_H
#define UPDRAFT_RUNTIME_OPTIMIZER_OPTIMIZER_H

#include "runtime/base/Kernels.h"
#include "runtime/base/MemoryRanges.h"
#include "runtime/base/TensorShape.h"
#include "runtime/optimizer/GroupHypers.h"
#include "runtime/optimizer/PlannedParams.h"
#include "runtime/optimizer/ProbeRing.h"
#include "runtime/optimizer/QuantBlocks.h"
#include "runtime/optimizer/StateArena.h"
#include "runtime/optimizer/StepGradients.h"
#include "runtime/optimizer/TensorDevice.h"
#include "runtime/optimizer/TensorLayout.h"
#include "runtime/timeline/Span.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::runtime {

class SafetensorsFile;
class SafetensorsWriter;

/// The largest step count. Kernels count in f64, where 2^53 + 1 is rounded to it. On the CPU a
/// further step is refused; a device takes the step and keeps the count.
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
  Status prepare(const StepGradients &gradients) {
    const timeline::Span span = spanOf("prepare ");
    return prepareStep(gradients);
  }
  Status apply(const upd_step_observer *observer) {
    const timeline::Span span = spanOf("apply ");
    return applyStep(observer);
  }
  Status step(const upd_tensor *grads, size_t gradCount) {
    return step({.tensors = grads, .count = gradCount});
  }
  Status stepRows(const upd_tensor *grads, size_t gradCount, const upd_row_grad *rowGrads,
                  size_t rowGradCount) {
    return step(StepGradients::withRows(grads, gradCount, rowGrads, rowGradCount));
  }

  /// Every how many steps are probed; 0: none.
  void setProbeEvery(uint64_t every) { probeEvery = every; }
  uint64_t getProbeEvery() const { return probeEvery; }
  /// The values of probes of the last steps. Any thread may read at any time.
  const ProbeRing &probeRing() const { return *probes; }

  virtual Status setStream(void *stream) = 0;
  /// Null removes the binding.
  Status bindFoundInf(const upd_tensor *found);

  Status getHyper(size_t group, const char *name, double &value) const {
    return hypers.get(group, name, value);
  }
  Status setHyper(size_t group, const char *name, double value) {
    const upd_hyper hyper{name, value};
    return setHypers(group, &hyper, 1);
  }
  Status setHypers(size_t group, const upd_hyper *values, size_t count);
  /// Accepts any value of a hyperparameter from now on.
  void ignoreRequirements() { hypers.ignoreRequirements(); }
  /// Null removes the binding.
  Status bindHyper(size_t group, const char *name, const upd_tensor *value);

  virtual Status getStep(size_t param, int64_t &step) = 0;
  /// The step counts of all parameters.
  virtual Status getSteps(int64_t *result, size_t count) = 0;
  virtual Status setStep(size_t param, int64_t step) = 0;
  virtual Status bindStep(size_t param, const upd_tensor &count) = 0;

  /// The seed of random numbers, 0 by default. Saved if the rule uses random numbers, and loaded.
  uint64_t getSeed() const { return seed; }
  void setSeed(uint64_t value);
  /// Sets the number of each parameter in its random numbers, by default its index. Not saved.
  Status setParamNumbers(const uint64_t *numbers, size_t count);

  Status state(size_t param, const char *name, upd_tensor &tensor);
  Status initialValue(size_t param, const char *name, double &value) const;
  Status bindState(size_t param, const char *name, const upd_tensor &tensor);

  Status save(const std::string &path);
  Status load(const std::string &path);
  /// Unless `needsFormats`, codes whose format the file doesn't name have the rule's.
  Status load(SafetensorsFile file, bool needsFormats = true);
  /// Sets `bytes` to the content of the file that `save` writes.
  Status saveBytes(std::string &bytes);

protected:
  struct Param {
    void *data;
    TensorLayout layout;
    TensorShape shape;
    uint32_t group;
    uint32_t plan; // index into the rule's plans
  };
  /// None: the state doesn't exist. Otherwise the owner of its memory: the optimizer or the caller.
  enum class StateOrigin : uint8_t { None, Own, Bound };
  /// The prepared step. Plan: it runs a plan, which stays discarded until `apply`. Rows: it runs
  /// only rows or, on a device, nothing.
  enum class Prepared : uint8_t { Nothing, Rows, Plan };
  /// A bound hyperparameter, which each step reads.
  struct HyperSource {
    size_t group, hyper;
    const void *data;
    upd_dtype dtype;
  };

  Optimizer(std::shared_ptr<const Kernels> kernels, TensorDevice device, const upd_pool &pool);

  virtual Status prepareStep(const StepGradients &gradients) = 0;
  virtual Status applyStep(const upd_step_observer *observer) = 0;

  static Status checkArguments(const upd_group *groups, size_t groupCount, const upd_pool *pool);
  /// Adds all groups and parameters. Called once, at creation.
  Status addGroups(const upd_group *groups, size_t groupCount);

  //===--------------------------------------------------------------------------------------===//
  // Implemented for each device
  //===--------------------------------------------------------------------------------------===//

  virtual PlannedParams &planned() = 0;
  /// Adds the steps that were counted for the whole plan to the parameters' step counts. Called
  /// before the plan is discarded.
  virtual void foldSteps() {}
  /// Waits for the device to finish its work, and returns its errors.
  virtual Status waitForSteps() { return {}; }
  /// Called before states are read. Finds out which new states exist by now.
  virtual Status settleStates() { return {}; }
  /// Replaces all step counts. Can't fail on the CPU.
  virtual Status replaceSteps(std::vector<int64_t> counts) = 0;
  /// Allocates zeroed memory.
  virtual Status allocateStates(size_t bytes, StateArena &memory) = 0;
  /// Copies between the host's memory and the device's.
  virtual Status readMemory(void *to, const void *from, size_t bytes) const = 0;
  virtual Status writeMemory(void *to, const void *from, size_t bytes) = 0;
  virtual void hyperSourcesChanged() = 0;
  /// Called after a state of a parameter was bound. If it fails, the binding is undone.
  virtual Status statesBound(size_t param) { return {}; }
  /// Checks the row indices if the host can read them. Their number has been checked.
  virtual Status checkIndexValues(const upd_row_grad &rowGrad) const { return {}; }

  //===--------------------------------------------------------------------------------------===//
  // Probes
  //===--------------------------------------------------------------------------------------===//

  /// Whether the next step of whole parameters is probed.
  bool isNextProbed() const {
    return probes->probes() != 0 && probeEvery != 0 && (appliedSteps + 1) % probeEvery == 0;
  }
  /// The plan of a parameter in a step.
  size_t planOf(size_t param, bool isProbed) const {
    return isProbed ? interface().probedPlanOf(params[param].plan) : params[param].plan;
  }

  //===--------------------------------------------------------------------------------------===//
  // Gradients
  //===--------------------------------------------------------------------------------------===//

  /// Refuses invalid gradients of whole parameters. `samePlan`: the plan of the last step fits.
  Status checkGradients(const StepGradients &gradients, bool &samePlan);
  /// The address of a parameter's gradient, or null if it has none. Valid from checkGradients until
  /// `prepare` returns. A gradient without elements has an address too.
  void *gradOf(size_t param) const { return const_cast<void *>(gradAddresses[param]); }
  Status checkBoundStates(size_t param) const;
  /// Refuses invalid gradients of rows, also in combination with the others.
  Status checkRowGradients(const StepGradients &gradients);
  /// The parameters whose gradients have other addresses than in the last step.
  const std::vector<uint32_t> &movedGrads() const { return changedGrads; }
  /// Remembers the addresses of these gradients.
  void acceptGradients();
  /// Returns an error if a load has failed half-way.
  Status checkWhole() const;
  /// Refuses a tensor that isn't one number on the device.
  Status checkNumber(const upd_tensor &tensor, const std::string &subject) const;

  //===--------------------------------------------------------------------------------------===//
  // States
  //===--------------------------------------------------------------------------------------===//

  /// Returns all hyperparameters, bound ones with current values. Refuses what the rule refuses.
  Status hypersNow(GroupHypers &result) const;
  bool usesRandom() const;
  size_t stateCount() const { return kernels->interface.states.size(); }
  Status checkParam(size_t param) const;
  static Status checkStepCount(int64_t step);
  /// Refuses a `count` that isn't the number of parameters.
  Status checkAskedSteps(size_t count) const;
  Status findState(const char *name, size_t &index) const;
  /// UPD_NOT_FOUND if the parameter's class doesn't have the state.
  Status checkOf(size_t param, size_t state) const;
  bool isShared(size_t state) const { return interface().states[state].over == Extent::Group; }
  /// Whether the parameter's class has the state, and the group doesn't share it.
  bool isOwn(size_t param, size_t state) const;
  /// Whether the parameter's class has the state, or the group shares it.
  bool isOf(size_t param, size_t state) const;
  /// The slot of a state over a group belongs to the first parameter of the group.
  size_t slotOf(size_t param, size_t state) const {
    const size_t holder = isShared(state) ? groupStarts[params[param].group] : param;
    return holder * stateCount() + state;
  }
  /// Whether the slot of a state belongs to this parameter.
  bool holds(size_t param, size_t state) const {
    return isOf(param, state) && slotOf(param, state) == param * stateCount() + state;
  }
  TensorLayout layoutOf(size_t param, size_t state) const;
  size_t stateBytes(size_t param, size_t state) const;
  /// The blocks of the parameter's states in blocks.
  QuantBlocks blocksOf(size_t param) const {
    return {params[param].shape, interface().plans[params[param].plan].tensors};
  }
  /// Whether all of the parameter's own states exist.
  bool hasStates(size_t param) const;
  /// Whether the parameter's class has states that aren't its group's.
  bool ownsStates(size_t param) const;
  /// Marks the states of a parameter, and those of its group that its plan writes, as existing.
  void acceptStates(size_t param);
  /// Describes the owner of memory: "parameter `w`", "state `m` of parameter `w`".
  std::string ownerText(const MemoryRange &owner, const MemoryRange &intruder) const;
  /// Makes the next step build a new plan. Discards a prepared step.
  void discardPlan() {
    planned().discard();
    prepared = Prepared::Nothing;
  }

  // Memory of states. keepArena doesn't allocate if allocateArena was called before.
  Status allocateArena(size_t bytes, StateArena &arena);
  void keepArena(StateArena arena);

  std::shared_ptr<const Kernels> kernels;
  TensorDevice device; // of all tensors
  upd_pool pool;
  GroupHypers hypers;
  std::vector<HyperSource> hyperSources;
  const float *foundInf = nullptr; // in the device's memory
  uint64_t seed = 0;
  std::vector<uint64_t> paramNumbers; // empty: their indices

  std::vector<Param> params;
  std::vector<std::string> names;

  // By slot. A state that doesn't exist may have memory from a skipped or abandoned step.
  std::vector<void *> statePointers;
  std::vector<StateOrigin> stateOrigins;

  std::unique_ptr<ProbeRing> probes;
  uint64_t probeEvery = 1;
  uint64_t appliedSteps = 0; // also of rows alone

  MemoryRanges owned; // of parameters, bound states and arenas
  Prepared prepared = Prepared::Nothing;

private:
  struct Loaded;
  /// The rank of a parameter and, if that is 1, its size. Checks of most gradients need only this,
  /// so it is kept apart from Param.
  struct ExpectedShape {
    int64_t size = 0;
    int32_t rank = 0;
  };

  // Creation.
  Status addParam(const upd_tensor &tensor, const char *name, uint32_t group);
  Status choosePlan(Param &param) const;
  Status checkSquareMatrices(const Param &param, const PlanInterface &plan) const;
  bool hasBlocks(TensorClass plan) const;
  void addStateLayouts();
  void addRowLayouts();
  void addSquareLayouts();
  void addMatrixLayout(size_t param, int64_t rows, int64_t columns, TensorLayout &result);
  void addScaleLayouts();
  Status checkNames() const;
  Status checkParamsApart();

  // Gradients.
  /// A span of the timeline.
  timeline::Span spanOf(const char *what) const {
    return {"step", [&](timeline::Event &event) {
              event.name(what, interface().name);
              event.number("step", static_cast<int64_t>(appliedSteps + 1));
              event.number("parameters", static_cast<int64_t>(params.size()));
            }};
  }
  Status step(const StepGradients &gradients);
  size_t findRefused(const upd_tensor *grads, size_t begin, size_t end);
  Status checkTensors(const upd_tensor *grads);
  Status checkAddresses(const void *const *grads) const;
  Status checkGradient(size_t param, const upd_tensor &grad) const;
  Status checkOverlap() const;
  Status checkRowGradient(const upd_row_grad &rowGrad);
  Status checkRowIndices(const upd_row_grad &rowGrad) const;
  Status checkRowValues(const upd_row_grad &rowGrad) const;

  /// Finds a state in blocks by the name of its scales, `STATE.scale`.
  bool findScales(std::string_view name, size_t &index) const;
  Status viewState(size_t param, size_t index, bool ofScales, upd_tensor &tensor) const;

  // Saving and loading.
  Status checkStorage(const SafetensorsFile &file) const;
  Status collect(SafetensorsWriter &writer);
  Status collect(Loaded &loaded, bool needsFormats);
  Status writeLoaded(const Loaded &loaded, bool areNew);
  Status commit(Loaded &loaded);
  Status onHost(const void *&data, size_t bytes, std::vector<char> &copy) const;

  static constexpr uint32_t arenaOwner = ~uint32_t(0);
  static constexpr uint32_t paramPart = ~uint32_t(0);

  std::vector<int64_t> dimensions;      // shapes and strides of the parameters
  std::vector<size_t> groupStarts;      // the first parameter of each group
  std::vector<TensorLayout> rowLayouts; // of states over rows, by parameter; empty if none are
  std::vector<TensorLayout> columnLayouts;
  std::vector<TensorLayout> rowSquareLayouts; // of states over square matrices, likewise
  std::vector<TensorLayout> columnSquareLayouts;
  std::vector<TensorLayout> scaleLayouts; // of the scales of blocks, likewise
  std::vector<int64_t> stateDimensions;   // of those

  std::string halfLoaded; // the path of a file whose load failed half-way; else empty

  std::vector<StateArena> arenas; // freed by the destructor: views of states point into them
  size_t boundStates = 0;

  std::vector<ExpectedShape> expectedShapes; // of gradients, by parameter
  std::vector<const void *> ownAddresses;    // of gradients that are given as tensors, by parameter
  const void *const *gradAddresses = nullptr;
  std::vector<const void *> checkedGrads; // by parameter: an address that doesn't overlap `owned`
  bool gradsChecked = true;               // false: `owned` has changed since
  std::vector<uint32_t> changedGrads;     // parameters whose gradient has another address
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_OPTIMIZER_H
