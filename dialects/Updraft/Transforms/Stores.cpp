//===- Stores.cpp - When a step stores its results --------------------------------------------===//

#include "Updraft/Transforms/Stores.h"

#include "Updraft/IR/StorageSize.h"
#include "Updraft/Transforms/Slice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace updraft;

namespace {

Type storageOf(Value input) { return input.getDefiningOp<TensorInputOpInterface>().getStorage(); }

/// Returns the inputs of the sweep over `extent` in a stage.
SmallVector<Value> sweepInputs(const StageAnalysis &stages, const ExtentAnalysis &extents,
                               Extent extent, unsigned stage, ArrayRef<Store> stores) {
  SmallVector<Value> roots = stages.keptOf(extent, stage);
  for (ReduceOp reduce : stages.reductionsOf(extent, stage))
    roots.push_back(reduce.getInput());
  for (const Store &store : stores)
    if (store.stage == stage && extents.of(store.current) == extent)
      roots.push_back(store.next);
  return Slice::compute(
             roots, [&](Value value) { return stages.isSweepInput(value, extent, stage, stores); })
      .inputs;
}

/// Returns the values before the step, the early stores, and the kept matrices, that the products,
/// the functions and the sweeps over matrices of `stage` read.
SetVector<Value> readsOf(const StageAnalysis &stages, const ExtentAnalysis &extents, unsigned stage,
                         ArrayRef<Store> stores) {
  SmallVector<Value> inputs;
  for (Extent extent : matrixExtents)
    llvm::append_range(inputs, sweepInputs(stages, extents, extent, stage, stores));
  for (Operation *operation : stages.wholeMatricesOf(stage))
    for (Value operand : operation->getOperands())
      inputs.push_back(readInMemory(operation, operand));
  SetVector<Value> reads;
  for (Value input : inputs) {
    auto store =
        llvm::find_if(stores, [&](const Store &s) { return s.next == input && s.stage < stage; });
    if (store != stores.end())
      reads.insert(store->next);
    else if (isa<TensorInputOpInterface>(input.getDefiningOp()) ? !extents.isScalar(input)
                                                                : stages.isKept(input))
      reads.insert(input);
  }
  return reads;
}

double bitsMoved(const StageAnalysis &stages, const ExtentAnalysis &extents,
                 ArrayRef<Store> stores) {
  double bits = 0;
  auto add = [&](Type storage) { bits += storageBits(storage); };
  for (unsigned stage = 0; stage <= stages.writing(); ++stage)
    for (Value read : readsOf(stages, extents, stage, stores)) {
      // Several states may have the same next value.
      auto store =
          llvm::find_if(stores, [&](const Store &s) { return s.next == read && s.stage < stage; });
      if (store != stores.end())
        add(storageOf(store->current));
      else if (!isa<TensorInputOpInterface>(read.getDefiningOp()))
        add(read.getType());
      else if (isMatrixExtent(extents.of(read)))
        add(storageOf(read));
    }
  for (const Store &store : stores)
    add(storageOf(store.current));
  for (unsigned stage = 0; stage <= stages.writing(); ++stage)
    for (Extent extent : matrixExtents)
      for (Value value : stages.keptOf(extent, stage))
        if (!isStoredAt(value, stage, stores))
          add(value.getType());
  return bits;
}

/// The parameter and the states over matrices that change, with their next values.
SmallVector<std::pair<Value, Value>> changedMatrices(RuleOp rule, const ExtentAnalysis &extents) {
  Block &body = rule.getBody().front();
  auto next = cast<NextOp>(body.getTerminator());
  SmallVector<std::pair<Value, Value>> changed;
  auto add = [&](Value current, Value value) {
    if (current != value && isMatrixExtent(extents.of(current)))
      changed.push_back({current, value});
  };
  for (auto param : body.getOps<ParamOp>())
    add(param, next.getParam());
  for (auto [state, value] : llvm::zip(body.getOps<StateOp>(), next.getStates()))
    add(state, value);
  return changed;
}

/// Whether the parameter or state `current` can hold the value in place of a temporary.
bool canHold(Value current, Value value, const StageAnalysis &stages,
             const ExtentAnalysis &extents) {
  return stages.isKept(value) && !isRuleInput(value) && storageOf(current) == value.getType() &&
         extents.of(value) == extents.of(current);
}

/// Returns the only kept value among which `next` chooses by flags and which the parameter or state
/// `current` can hold. Null if there is none or several.
Value interimValue(Value current, Value next, const StageAnalysis &stages,
                   const ExtentAnalysis &extents, const Conditions &conditions) {
  llvm::SetVector<Value> found;
  conditions.forBranches(
      next, [&](Value value) { return stages.isKept(value) || value == current; },
      [&](Value value, const Conjunction &) {
        if (value != next && canHold(current, value, stages, extents))
          found.insert(value);
      });
  return found.size() == 1 ? found.front() : Value();
}

/// Returns the first kept value that is `current` or another one, by flags, such as a state that is
/// initialized in its first step. Null if there is none.
Value initializedValue(Value current, Value next, const StageAnalysis &stages,
                       const ExtentAnalysis &extents, const Conditions &conditions) {
  for (unsigned stage = 0; stage <= stages.writing(); ++stage)
    for (Value value : stages.keptOf(extents.of(current), stage)) {
      bool isCurrent = false;
      conditions.forBranches(
          value, [&](Value branch) { return branch == current; },
          [&](Value branch, const Conjunction &) { isCurrent |= branch == current; });
      if (isCurrent && value != next && canHold(current, value, stages, extents))
        return value;
    }
  return {};
}

/// Whether a later store of the same parameter or state overwrites the value before its last read,
/// or whether something reads after the store what it overwrites.
bool hasHazard(const Store &interim, const StageAnalysis &stages, const ExtentAnalysis &extents,
               ArrayRef<Store> stores) {
  unsigned overwritten = stages.writing();
  for (const Store &other : stores)
    if (other.current == interim.current && other.next != interim.next)
      overwritten = other.stage;
  if (overwritten <= interim.stage)
    return true;
  for (unsigned stage = interim.stage + 1; stage <= stages.writing(); ++stage) {
    SetVector<Value> reads = readsOf(stages, extents, stage, stores);
    if (reads.contains(interim.current) || (stage > overwritten && reads.contains(interim.next)))
      return true;
  }
  return false;
}

/// Adds the interim values that the parameter and the states can hold beside the other stores.
void addInterimStores(SmallVector<Store> &stores, RuleOp rule, const StageAnalysis &stages,
                      const ExtentAnalysis &extents, const Conditions &conditions) {
  const unsigned firstStage = stages.skipping();
  for (auto [current, value] : changedMatrices(rule, extents)) {
    Value interim = interimValue(current, value, stages, extents, conditions);
    if (!interim)
      interim = initializedValue(current, value, stages, extents, conditions);
    if (!interim || stages.of(interim) < firstStage)
      continue;
    stores.push_back({current, interim, stages.of(interim)});
    if (hasHazard(stores.back(), stages, extents, stores))
      stores.pop_back();
  }
}

/// Moves the operations that compute a flag before `place`, as far as they are after it. Returns
/// false if an input can't be moved.
bool moveBefore(Value flag, Operation *place) {
  const Slice slice = Slice::compute(flag, isRuleInput);
  auto isAfter = [&](Operation *operation) { return place->isBeforeInBlock(operation); };
  for (Value input : slice.inputs)
    if (isAfter(input.getDefiningOp()) && input.getDefiningOp()->getNumOperands() != 0)
      return false;
  for (Value input : slice.inputs)
    if (isAfter(input.getDefiningOp()))
      input.getDefiningOp()->moveBefore(place);
  for (Operation *operation : slice.operations)
    if (isAfter(operation))
      operation->moveBefore(place);
  return true;
}

/// If flags choose `current` in `next`, and never in steps that need the kept value, makes them
/// choose the kept value there, which is changed to be `current` in these steps. Returns whether
/// the rule has changed.
bool mergeInterimValue(Value current, Value kept, const StageAnalysis &stages,
                       const Conditions &conditions) {
  const Disjunction needed = conditions.neededWhen(kept);
  if (needed.size() != 1)
    return false;
  Operation *maker = kept.getDefiningOp();
  SmallVector<arith::SelectOp> choices;
  for (OpOperand &use : current.getUses()) {
    auto select = dyn_cast<arith::SelectOp>(use.getOwner());
    const bool ifTrue = use.getOperandNumber() == 1;
    if (select && select.getTrueValue() == select.getFalseValue())
      return false;
    if (select && use.getOperandNumber() != 0 && maker->isBeforeInBlock(select) &&
        llvm::is_contained(needed.front(), Literal{select.getCondition(), !ifTrue}))
      choices.push_back(select);
    else if (isa<NextOp>(use.getOwner()) ||
             stages.of(use.getOwner()->getResult(0)) > stages.of(kept))
      return false;
  }
  if (choices.empty() || !llvm::all_of(needed.front(), [&](const Literal &literal) {
        return moveBefore(literal.first, maker);
      }))
    return false;
  OpBuilder builder(maker->getBlock(), std::next(maker->getIterator()));
  Value merged = kept;
  SmallPtrSet<Operation *, 4> own;
  for (auto [flag, mustHold] : needed.front()) {
    merged = arith::SelectOp::create(builder, kept.getLoc(), flag, mustHold ? merged : current,
                                     mustHold ? current : merged);
    own.insert(merged.getDefiningOp());
  }
  kept.replaceAllUsesExcept(merged, own);
  for (arith::SelectOp choice : choices) {
    choice->replaceUsesOfWith(current, merged);
    if (choice.getTrueValue() != choice.getFalseValue())
      continue;
    choice.replaceAllUsesWith(merged);
    choice.erase();
  }
  return true;
}

} // namespace

void updraft::mergeInterimValues(RuleOp rule) {
  auto mergeOne = [&] {
    const ExtentAnalysis extents(rule);
    const StageAnalysis stages(rule, extents);
    if (!stages.hasKept())
      return false;
    const Conditions conditions(rule, extents, stages);
    return llvm::any_of(changedMatrices(rule, extents), [&](const auto &changed) {
      Value kept = interimValue(changed.first, changed.second, stages, extents, conditions);
      return kept && mergeInterimValue(changed.first, kept, stages, conditions);
    });
  };
  while (mergeOne())
    ;
}

Disjunction updraft::changesWhen(const Store &store, ArrayRef<Store> stores,
                                 const Conditions &conditions) {
  auto isHeld = [&](Value value) {
    return value == store.current || llvm::any_of(stores, [&](const Store &earlier) {
             return earlier.current == store.current && earlier.next == value &&
                    earlier.stage < store.stage;
           });
  };
  Disjunction when;
  conditions.forBranches(store.next, isHeld, [&](Value value, const Conjunction &chosen) {
    if (!isHeld(value))
      when = either(when, {chosen});
  });
  return when;
}

SmallVector<Store> updraft::chooseStores(RuleOp rule, const StageAnalysis &stages,
                                         const ExtentAnalysis &extents,
                                         const Conditions &conditions) {
  SmallVector<Store> late;
  for (auto [current, value] : changedMatrices(rule, extents))
    late.push_back({current, value, stages.writing()});

  SmallVector<Store> early = late;
  unsigned firstStage = stages.skipping();
  for (Store &store : early)
    if (storageOf(store.current) == store.next.getType() &&
        extents.of(store.next) == extents.of(store.current) &&
        !isa<TensorInputOpInterface>(store.next.getDefiningOp()) &&
        !isOfWholeMatrices(store.next.getDefiningOp()))
      store.stage = std::max(stages.of(store.next), firstStage);

  // A value that a later sweep needs from before the step cannot be overwritten earlier. Undoing
  // one store may make a later sweep need another value.
  for (bool changed = true; changed;) {
    changed = false;
    for (Store &store : early)
      for (unsigned stage = store.stage + 1; stage <= stages.writing(); ++stage)
        if (readsOf(stages, extents, stage, early).contains(store.current)) {
          store.stage = stages.writing();
          changed = true;
        }
  }
  addInterimStores(late, rule, stages, extents, conditions);
  addInterimStores(early, rule, stages, extents, conditions);
  return bitsMoved(stages, extents, early) < bitsMoved(stages, extents, late) ? early : late;
}
