//===- Stages.cpp - The stage at which a value is known ---------------------------------------===//

#include "Updraft/Transforms/Stages.h"

#include "Updraft/IR/StorageSize.h"
#include "Updraft/Transforms/SharedReductions.h"
#include "Updraft/Transforms/Slice.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace updraft;

/// Visits the results of the rule: the parameter and the states that change, with their next
/// values, then the skip condition.
template <typename AddNext, typename AddSkip>
static void forResults(RuleOp rule, AddNext addNext, AddSkip addSkip) {
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
}

/// Returns the operations that the rule's results need, in order.
static SmallVector<Operation *> neededOperations(RuleOp rule) {
  SmallVector<Value> results = sharedReductionsOf(rule);
  forResults(
      rule, [&](Value, Value value) { results.push_back(value); },
      [&](Value skip) { results.push_back(skip); });
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

bool updraft::isOfWholeMatrices(Operation *operation) { return isa<ProductOp, ApplyOp>(operation); }

Value updraft::readInMemory(Operation *reader, Value operand) {
  auto transpose = operand.getDefiningOp<TransposeOp>();
  return transpose && isa<ProductOp>(reader) ? transpose.getInput() : operand;
}

/// Whether a product or function can read the value where it is: the result of another one, or an
/// input in the compute type.
static bool isInMemory(Value value) {
  return TypeSwitch<Operation *, bool>(value.getDefiningOp())
      .Case<ParamOp, GradOp, StateOp>(
          [&](auto input) { return input.getStorage() == value.getType(); })
      .Case<ProductOp, ApplyOp>([](auto) { return true; })
      .Default([](Operation *) { return false; });
}

/// Returns the position, in the sequence of sweeps, of the sweep that reduces values of `extent`.
/// Within a stage, sweeps over batches come first, then over rows, columns and elements.
static std::pair<unsigned, unsigned> placeOf(unsigned stage, Extent extent) {
  switch (extent) {
  case Extent::batch:
    return {stage, 0};
  case Extent::row:
    return {stage, 1};
  case Extent::column:
    return {stage, 2};
  default:
    return {stage, 3};
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
  forResults(
      rule,
      [&](Value current, Value value) {
        stageCount = std::max(stageCount, of(value) + 1);
        if (!extents.isScalar(current))
          writingStage = std::max(writingStage, of(value));
      },
      [&](Value skip) { writingStage = std::max(writingStage, of(skip)); });
  // A value must not be written before the reductions that read it.
  for (ReduceOp reduce : needed)
    writingStage = std::max(writingStage, of(reduce) - 1);
  stageCount = std::max(stageCount, writingStage + 1);
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
  return isa<HyperOp, StepOp, FirstOp, SizeOp, ParamOp, GradOp, StateOp, ReduceOp, ProductOp,
             ApplyOp>(value.getDefiningOp());
}

bool StageAnalysis::isSweepInput(Value value, Extent extent, unsigned stage,
                                 ArrayRef<EarlyStore> stores) const {
  if (isRuleInput(value) || (isKept(value) && of(value) < stage))
    return true;
  if (llvm::any_of(stores, [&](const EarlyStore &store) {
        return store.next == value && store.stage < stage;
      }))
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

namespace {

Type storageOf(Value current) {
  if (auto state = current.getDefiningOp<StateOp>())
    return state.getStorage();
  return current.getDefiningOp<ParamOp>().getStorage();
}

/// Returns the inputs of the sweep over `extent` in a stage.
SmallVector<Value> sweepInputs(const StageAnalysis &stages, const ExtentAnalysis &extents,
                               Extent extent, unsigned stage, ArrayRef<EarlyStore> stores) {
  SmallVector<Value> roots = stages.keptOf(extent, stage);
  for (ReduceOp reduce : stages.reductionsOf(extent, stage))
    roots.push_back(reduce.getInput());
  for (const EarlyStore &store : stores)
    if (store.stage == stage && extents.of(store.current) == extent)
      roots.push_back(store.next);
  return Slice::compute(
             roots, [&](Value value) { return stages.isSweepInput(value, extent, stage, stores); })
      .inputs;
}

/// Returns the values before the step, the early stores, and the kept matrices, that the products,
/// the functions and the sweeps over matrices of `stage` read.
SetVector<Value> readsOf(const StageAnalysis &stages, const ExtentAnalysis &extents, unsigned stage,
                         ArrayRef<EarlyStore> stores) {
  SmallVector<Value> inputs;
  for (Extent extent : matrixExtents)
    llvm::append_range(inputs, sweepInputs(stages, extents, extent, stage, stores));
  for (Operation *operation : stages.wholeMatricesOf(stage))
    for (Value operand : operation->getOperands())
      inputs.push_back(readInMemory(operation, operand));
  SetVector<Value> reads;
  for (Value input : inputs) {
    auto store = llvm::find_if(
        stores, [&](const EarlyStore &s) { return s.next == input && s.stage < stage; });
    if (store != stores.end())
      reads.insert(store->next);
    else if (isa<ParamOp, GradOp, StateOp>(input.getDefiningOp()) ? !extents.isScalar(input)
                                                                  : stages.isKept(input))
      reads.insert(input);
  }
  return reads;
}

double bitsMoved(const StageAnalysis &stages, const ExtentAnalysis &extents,
                 ArrayRef<EarlyStore> stores) {
  double bits = 0;
  auto add = [&](Type storage) { bits += storageBits(storage); };
  for (unsigned stage = 0; stage <= stages.writing(); ++stage)
    for (Value read : readsOf(stages, extents, stage, stores)) {
      // Several states may have the same next value.
      auto store = llvm::find_if(
          stores, [&](const EarlyStore &s) { return s.next == read && s.stage < stage; });
      if (store != stores.end())
        add(storageOf(store->current));
      else if (auto grad = read.getDefiningOp<GradOp>())
        add(grad.getStorage());
      else if (!isa<ParamOp, StateOp>(read.getDefiningOp()))
        add(read.getType());
      else if (isMatrixExtent(extents.of(read)))
        add(storageOf(read));
    }
  for (const EarlyStore &store : stores)
    add(storageOf(store.current));
  for (unsigned stage = 0; stage <= stages.writing(); ++stage)
    for (Extent extent : matrixExtents)
      for (Value value : stages.keptOf(extent, stage))
        if (!isStoredAt(value, stage, stores))
          add(value.getType());
  return bits;
}

} // namespace

bool updraft::isStoredAt(Value value, unsigned stage, ArrayRef<EarlyStore> stores) {
  return llvm::any_of(
      stores, [&](const EarlyStore &store) { return store.next == value && store.stage == stage; });
}

SmallVector<EarlyStore> updraft::chooseStores(RuleOp rule, const StageAnalysis &stages,
                                              const ExtentAnalysis &extents) {
  Block &body = rule.getBody().front();
  auto next = cast<NextOp>(body.getTerminator());
  SmallVector<EarlyStore> late;
  auto add = [&](Value current, Value value) {
    if (current != value && isMatrixExtent(extents.of(current)))
      late.push_back({current, value, stages.writing()});
  };
  for (auto param : body.getOps<ParamOp>())
    add(param, next.getParam());
  for (auto [state, value] : llvm::zip(body.getOps<StateOp>(), next.getStates()))
    add(state, value);

  SmallVector<EarlyStore> early = late;
  unsigned firstStage = next.getSkip() ? stages.of(next.getSkip()) : 0;
  for (EarlyStore &store : early)
    if (storageOf(store.current) == store.next.getType() &&
        extents.of(store.next) == extents.of(store.current) &&
        !isa<ParamOp, GradOp, StateOp, ProductOp, ApplyOp>(store.next.getDefiningOp()))
      store.stage = std::max(stages.of(store.next), firstStage);

  // A value that a later sweep needs from before the step cannot be overwritten earlier. Undoing
  // one store may make a later sweep need another value.
  for (bool changed = true; changed;) {
    changed = false;
    for (EarlyStore &store : early)
      for (unsigned stage = store.stage + 1; stage <= stages.writing(); ++stage)
        if (readsOf(stages, extents, stage, early).contains(store.current)) {
          store.stage = stages.writing();
          changed = true;
        }
  }
  return bitsMoved(stages, extents, early) < bitsMoved(stages, extents, late) ? early : late;
}
