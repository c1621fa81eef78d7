//===- SharedReductions.cpp - Reductions over a group of vectors and matrices -----------------===//

#include "Updraft/Transforms/SharedReductions.h"

#include "Updraft/Transforms/Stages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

#include <map>

using namespace mlir;
using namespace updraft;

static constexpr StringLiteral numberName = "updraft.shared";

static SmallVector<RuleOp> formsOf(VariantsOp variants) {
  return llvm::map_to_vector(variants.getForms(),
                             [](Operation *form) { return cast<RuleOp>(form); });
}

/// Returns the variants of rules, not of plans.
static SmallVector<VariantsOp> variantsIn(ModuleOp module) {
  SmallVector<VariantsOp> result;
  for (auto variants : module.getOps<VariantsOp>())
    if (isa<RuleOp>(variants.getMatrixForm()))
      result.push_back(variants);
  return result;
}

static SmallVector<ReduceOp> groupReductionsOf(RuleOp rule) {
  SmallVector<ReduceOp> reductions;
  for (auto reduce : rule.getBody().getOps<ReduceOp>())
    if (reduce.getOver() == Extent::group)
      reductions.push_back(reduce);
  return reductions;
}

std::optional<unsigned> updraft::sharedNumberOf(ReduceOp reduce) {
  auto number = dyn_cast_or_null<IntegerAttr>(reduce->getDiscardableAttr(numberName));
  return number ? std::optional<unsigned>(number.getInt()) : std::nullopt;
}

bool updraft::isShared(ReduceOp reduce) { return reduce->hasAttr(numberName); }

SmallVector<Value> updraft::sharedReductionsOf(RuleOp rule) {
  SmallVector<Value> shared;
  for (ReduceOp reduce : groupReductionsOf(rule))
    if (isShared(reduce))
      shared.push_back(reduce);
  return shared;
}

static std::multimap<unsigned, ReductionKind> numbersOf(ArrayRef<ReduceOp> reductions) {
  std::multimap<unsigned, ReductionKind> numbers;
  for (ReduceOp reduce : reductions)
    if (isShared(reduce))
      numbers.insert({*sharedNumberOf(reduce), reduce.getKind()});
  return numbers;
}

SharedReductionsHeld::SharedReductionsHeld(RuleOp rule)
    : next(cast<NextOp>(rule.getBody().front().getTerminator())), states(next.getStates().size()) {
  SmallVector<Value> shared = sharedReductionsOf(rule);
  count = shared.size();
  next.getStatesMutable().append(shared);
}

SharedReductionsHeld::~SharedReductionsHeld() { next.getStatesMutable().erase(states, count); }

static LogicalResult numberReductions(VariantsOp variants) {
  const auto ofForms = llvm::map_to_vector(formsOf(variants), groupReductionsOf);
  const SmallVector<ReduceOp> &first = ofForms.front();
  if (llvm::any_of(ofForms, [](const auto &ofForm) { return llvm::any_of(ofForm, isShared); }))
    return success(llvm::all_of(
        ofForms, [&](const auto &ofForm) { return numbersOf(ofForm) == numbersOf(first); }));
  auto haveOneKind = [](ReduceOp a, ReduceOp b) { return a.getKind() == b.getKind(); };
  if (!llvm::all_of(ofForms,
                    [&](const auto &ofForm) { return llvm::equal(ofForm, first, haveOneKind); }))
    return failure();
  for (const SmallVector<ReduceOp> &reductions : ofForms)
    for (auto [number, reduce] : llvm::enumerate(reductions))
      reduce->setDiscardableAttr(numberName, Builder(reduce).getI64IntegerAttr(number));
  return success();
}

LogicalResult updraft::numberSharedReductions(ModuleOp module) {
  return success(llvm::all_of(variantsIn(module), [](VariantsOp variants) {
    return succeeded(numberReductions(variants));
  }));
}

static void dropUnneeded(VariantsOp variants) {
  SmallVector<std::pair<ReduceOp, unsigned>> numbered;
  unsigned count = 0;
  for (RuleOp rule : formsOf(variants))
    for (ReduceOp reduce : groupReductionsOf(rule))
      if (isShared(reduce)) {
        numbered.push_back({reduce, *sharedNumberOf(reduce)});
        count = std::max(count, numbered.back().second + 1);
        reduce->removeDiscardableAttr(numberName);
      }

  // A reduction that one rule needs is kept in the other, which may then need more reductions.
  llvm::SmallBitVector needed(count);
  for (bool changed = true; changed;) {
    changed = false;
    llvm::DenseSet<Operation *> inUse;
    for (RuleOp rule : formsOf(variants))
      for (ReduceOp reduce : neededReductions(rule))
        inUse.insert(reduce);
    for (auto [reduce, number] : numbered)
      if (inUse.contains(reduce) && !needed[number]) {
        needed.set(number);
        changed = true;
      }
    for (auto [reduce, number] : numbered)
      if (needed[number])
        reduce->setDiscardableAttr(numberName, Builder(reduce).getI64IntegerAttr(number));
  }
}

void updraft::dropUnneededReductions(ModuleOp module) {
  for (VariantsOp variants : variantsIn(module))
    dropUnneeded(variants);
}
