//===- Stages.cpp - The stage at which a value is known ---------------------------------------===//

#include "Updraft/Transforms/Stages.h"

#include "Updraft/Transforms/SharedReductions.h"
#include "Updraft/Transforms/Slice.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace updraft;

/// Visits the results of the rule: the parameter and the states that change, with their next
/// values, then the skip condition, then the probes.
template <typename AddNext, typename AddSkip, typename AddProbe>
static void forResults(RuleOp rule, AddNext addNext, AddSkip addSkip, AddProbe addProbe) {
  Block &body = rule.getBody().front();
  auto next = cast<NextOp>(body.getTerminator());
  auto add = [&](Value current, Value value) {
    if (current != value)
      addNext(current, value);
  };
  for (auto param : body.getOps<ParamOp>())
    add(param, next.getParam());
  for (auto [state, value] : llvm::zip(body.getOps<StateOp>(), next.getStates()))
    add(state, value);
  if (Value skip = next.getSkip())
    addSkip(skip);
  for (auto probe : body.getOps<ProbeOp>())
    addProbe(probe.getValue());
}

/// Returns the operations that the rule's results need, in order.
static SmallVector<Operation *> neededOperations(RuleOp rule) {
  SmallVector<Value> results = sharedReductionsOf(rule);
  auto add = [&](Value value) { results.push_back(value); };
  forResults(rule, [&](Value, Value value) { add(value); }, add, add);
  return Slice::compute(results, [](Value value) { return isa<StateOp>(value.getDefiningOp()); })
      .operations;
}

SmallVector<ReduceOp> updraft::neededReductions(RuleOp rule) {
  SmallVector<ReduceOp> needed;
  for (Operation *operation : neededOperations(rule))
    if (auto reduce = dyn_cast<ReduceOp>(operation))
      needed.push_back(reduce);
  return needed;
}

Value updraft::readInMemory(Operation *reader, Value operand) {
  auto transpose = operand.getDefiningOp<TransposeOp>();
  return transpose && isa<ProductOp>(reader) ? transpose.getInput() : operand;
}

/// Whether a product or function can read the value where it is: the result of another one, or an
/// input in the compute type.
static bool isInMemory(Value value) {
  Operation *operation = value.getDefiningOp();
  if (auto input = dyn_cast<TensorInputOpInterface>(operation))
    return input.getStorage() == value.getType();
  return isOfWholeMatrices(operation);
}

/// Returns the position, in the sequence of sweeps, of the sweep that reduces values of `extent`.
/// Within a stage, sweeps over batches come first, then over rows, columns and each shape of
/// matrices.
static std::pair<unsigned, unsigned> placeOf(unsigned stage, Extent extent) {
  switch (extent) {
  case Extent::batch:
    return {stage, 0};
  case Extent::row:
    return {stage, 1};
  case Extent::column:
    return {stage, 2};
  default:
    return {stage, 3 + (llvm::find(matrixExtents, extent) - std::begin(matrixExtents))};
  }
}

StageAnalysis::StageAnalysis(RuleOp rule, const ExtentAnalysis &extents)
    : extents(extents), needed(neededReductions(rule)),
      wholeMatrices(llvm::filter_to_vector(neededOperations(rule), isOfWholeMatrices)) {
  std::pair<unsigned, unsigned> lastShared;
  for (Operation &operation : rule.getBody().front()) {
    unsigned stage = 0;
    for (Value operand : operation.getOperands())
      stage = std::max(stage, of(operand));
    if (isOfWholeMatrices(&operation))
      for (Value operand : operation.getOperands())
        stage = std::max(stage,
                         of(operand) + (isInMemory(readInMemory(&operation, operand)) ? 0U : 1U));
    // The initial value of a state is not part of the step.
    if (isa<StateOp>(operation))
      stage = 0;
    if (auto reduce = dyn_cast<ReduceOp>(operation)) {
      // Shared reductions keep their order, which is the same in the plan for the other tensors.
      // Neither plan then waits for a reduction that the other computes later.
      const Extent extent = extents.of(reduce.getInput());
      if (isShared(reduce)) {
        stage = std::max(stage, lastShared.first);
        if (placeOf(stage, extent) < lastShared)
          ++stage;
        lastShared = placeOf(stage, extent);
      }
      ++stage;
    }
    stages[&operation] = stage;
  }

  for (Operation *operation : wholeMatrices)
    for (Value operand : operation->getOperands())
      if (Value value = readInMemory(operation, operand); !isInMemory(value))
        kept.insert(value);
  keepComputedAgain(rule);
  delayWholeMatrices(rule);
  forResults(
      rule,
      [&](Value current, Value value) {
        stageCount = std::max(stageCount, of(value) + 1);
        if (!extents.isScalar(current))
          writingStage = std::max(writingStage, of(value));
      },
      [&](Value skip) {
        skippingStage = of(skip);
        for (Value reduce : sharedReductionsOf(rule))
          skippingStage = std::max(skippingStage, of(reduce));
        writingStage = std::max(writingStage, skippingStage);
      },
      [&](Value probe) { stageCount = std::max(stageCount, of(probe) + 1); });
  // A value must not be written before the reductions that read it.
  for (ReduceOp reduce : needed)
    writingStage = std::max(writingStage, of(reduce) - 1);
  stageCount = std::max(stageCount, writingStage + 1);
}

// Later sweeps then read one matrix instead of several, which don't wait in memory for them.
void StageAnalysis::keepComputedAgain(RuleOp rule) {
  constexpr unsigned worthKeeping = 3;
  if (wholeMatrices.size() + kept.size() < worthKeeping)
    return;
  const auto readsFew = [&](Value value) {
    const Slice slice =
        Slice::compute(value, [&](Value input) { return isRuleInput(input) || isKept(input); });
    return llvm::count_if(slice.inputs, [&](Value input) {
             return isMatrixExtent(extents.of(input)) &&
                    (isKept(input) || isOfWholeMatrices(input.getDefiningOp()));
           }) < worthKeeping;
  };
  /// The stages whose sweeps compute a value.
  struct Sweeps {
    unsigned first = std::numeric_limits<unsigned>::max(), last = 0;
    bool readFew = false; // those of a user read fewer matrices than are worth keeping
  };
  llvm::DenseMap<Operation *, Sweeps> sweeps;
  const SmallVector<Operation *> operations = neededOperations(rule);
  for (Operation *operation : llvm::reverse(operations)) {
    Sweeps own;
    for (Operation *user : operation->getUsers()) {
      if (!sweeps.contains(user)) // it stores or isn't needed
        continue;
      const unsigned stage = stages.lookup(user);
      Sweeps readers = sweeps.lookup(user);
      if (isa<ReduceOp>(user))
        readers = {stage - 1, stage - 1};
      else if (isOfWholeMatrices(user) || isKept(user->getResult(0)))
        readers = {stage, stage};
      own = {std::min(own.first, readers.first), std::max(own.last, readers.last),
             own.readFew || readers.readFew};
    }
    if (own.first == stages.lookup(operation) && own.first < own.last && !own.readFew)
      if (Value value = operation->getResult(0); value.getType() == rule.getCompute() &&
                                                 isMatrixExtent(extents.of(value)) &&
                                                 !isRuleInput(value) && !isKept(value)) {
        own.readFew = readsFew(value);
        if (!own.readFew)
          kept.insert(value);
      }
    sweeps[operation] = own;
  }
}

// A result then waits in memory for fewer stages.
void StageAnalysis::delayWholeMatrices(RuleOp rule) {
  Block &body = rule.getBody().front();
  llvm::DenseMap<Operation *, unsigned> latest;
  for (Operation &operation : llvm::reverse(body)) {
    const unsigned stage = stages.lookup(&operation);
    // Values of sweeps are computed where they are read, but for those that are kept.
    const bool canWait = isOfWholeMatrices(&operation) ||
                         (operation.getNumResults() == 1 && !isRuleInput(operation.getResult(0)) &&
                          !isKept(operation.getResult(0)));
    std::optional<unsigned> first;
    if (canWait)
      for (Operation *user : operation.getUsers()) {
        // A result of the rule can be stored as soon as it is known.
        const unsigned read = isa<NextOp>(user)     ? stage
                              : isa<ReduceOp>(user) ? latest.lookup(user) - 1
                                                    : latest.lookup(user);
        first = std::min(first.value_or(read), read);
      }
    latest[&operation] = std::max(first.value_or(stage), stage);
  }
  for (Operation &operation : body) {
    unsigned &stage = stages[&operation];
    if (isOfWholeMatrices(&operation))
      stage = latest.lookup(&operation);
    else if (operation.getNumResults() == 1 && !isRuleInput(operation.getResult(0)))
      for (Value operand : operation.getOperands())
        stage = std::max(stage, of(operand));
  }
}

SmallVector<ReduceOp> StageAnalysis::reductionsOf(Extent extent, unsigned stage) const {
  SmallVector<ReduceOp> reductions;
  for (ReduceOp reduce : needed)
    if (extents.of(reduce.getInput()) == extent && of(reduce) == stage + 1)
      reductions.push_back(reduce);
  return reductions;
}

SmallVector<Operation *> StageAnalysis::wholeMatricesOf(unsigned stage) const {
  SmallVector<Operation *> result;
  for (Operation *operation : wholeMatrices)
    if (of(operation->getResult(0)) == stage)
      result.push_back(operation);
  return result;
}

SmallVector<Value> StageAnalysis::keptOf(Extent extent, unsigned stage) const {
  SmallVector<Value> result;
  for (Value value : kept)
    if (extents.of(value) == extent && of(value) == stage)
      result.push_back(value);
  return result;
}

ReduceOp StageAnalysis::groupReductionAfterSkip(NextOp next) const {
  Value skip = next.getSkip();
  if (!skip || isWithin(extents.of(skip), Extent::group))
    return {};
  for (ReduceOp reduce : needed)
    if (reduce.getOver() == Extent::group && of(reduce) > of(skip))
      return reduce;
  return {};
}

bool updraft::isRuleInput(Value value) {
  Operation *operation = value.getDefiningOp();
  return isa<HyperOp, StepOp, FirstOp, SizeOp, ReduceOp, TensorInputOpInterface>(operation) ||
         isOfWholeMatrices(operation);
}

bool StageAnalysis::isSweepInput(Value value, Extent extent, unsigned stage,
                                 ArrayRef<Store> stores) const {
  if (isRuleInput(value) || (isKept(value) && of(value) < stage))
    return true;
  if (llvm::any_of(stores,
                   [&](const Store &store) { return store.next == value && store.stage < stage; }))
    return true;
  // For rows and columns this is as cheap as a load, and needs no sweep over batches.
  if (!isMatrixExtent(extent) && extents.of(value) == Extent::batch)
    return false;
  // Memory between sweeps holds floats, and a row of scalars also holds flags. Integers and other
  // conditions are recomputed from their operands.
  const bool isFlag = extents.isScalar(value) && value.getType().isInteger(1);
  if (!isa<FloatType>(value.getType()) && !isFlag)
    return false;
  return extents.of(value) != extent && !matchPattern(value, m_Constant()) &&
         !isa<RandomOp>(value.getDefiningOp());
}

bool updraft::isStoredAt(Value value, unsigned stage, ArrayRef<Store> stores) {
  return llvm::any_of(
      stores, [&](const Store &store) { return store.next == value && store.stage == stage; });
}
