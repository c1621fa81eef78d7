//===- SharedReductions.cpp - Reductions over a group of vectors and matrices -----------------===//

#include "Updraft/Transforms/SharedReductions.h"

#include "Updraft/Transforms/Stages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

#include <array>
#include <map>

using namespace mlir;
using namespace updraft;

static constexpr StringLiteral numberName = "updraft.shared";

static std::array<RuleOp, 2> formsOf(VariantsOp variants) {
  return {cast<RuleOp>(variants.getVectorForm()), cast<RuleOp>(variants.getMatrixForm())};
}

/// Returns the variants of rules, not of plans.
static SmallVector<VariantsOp> variantsIn(ModuleOp module) {
  SmallVector<VariantsOp> result;
  for (auto variants : module.getOps<VariantsOp>())
    if (isa<RuleOp>(variants.getVectorForm()))
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
  auto [ofVectors, ofMatrices] = formsOf(variants);
  const SmallVector<ReduceOp> vectors = groupReductionsOf(ofVectors),
                              matrices = groupReductionsOf(ofMatrices);
  if (llvm::any_of(vectors, isShared) || llvm::any_of(matrices, isShared))
    return success(numbersOf(vectors) == numbersOf(matrices));
  if (!llvm::equal(vectors, matrices,
                   [](ReduceOp a, ReduceOp b) { return a.getKind() == b.getKind(); }))
    return failure();
  for (const SmallVector<ReduceOp> &reductions : {vectors, matrices})
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
