//===- VariantsVerifier.cpp - Constraints of the forms of a rule ------------------------------===//
// Each check is marked with the label of its constraint in the operation's description.

#include "Updraft/IR/UpdraftOps.h"

using namespace mlir;
using namespace updraft;

namespace {

struct StateType {
  Type storage;
  Extent over;
  bool operator==(const StateType &) const = default;
};

llvm::StringMap<StateType> statesOf(RuleOp rule) {
  llvm::StringMap<StateType> states;
  for (auto state : rule.getBody().getOps<StateOp>())
    states[state.getName()] = {state.getStorage(), state.getOver()};
  return states;
}

llvm::StringMap<StateType> statesOf(PlanOp plan) {
  llvm::StringMap<StateType> states;
  for (auto stream : plan.getBody().getOps<StreamOp>())
    states[stream.getName()] = {stream.getType().getStorage(), stream.getType().getOver()};
  for (auto scalar : plan.getBody().getOps<ScalarOp>())
    states[scalar.getName()] = {scalar.getStorage(), scalar.getOver()};
  return states;
}

template <typename FormOp> LogicalResult verifyForms(FormOp vectors, FormOp matrices) {
  // variants_c1
  if (vectors.getMatrix())
    return vectors.emitOpError() << "in `vectors` has `matrix`";
  if (!matrices.getMatrix())
    return matrices.emitOpError() << "in `matrices` must have `matrix`";
  // variants_c2
  if (vectors.getCompute() != matrices.getCompute() || vectors.getFast() != matrices.getFast())
    return matrices.emitOpError() << "must have the compute type and numerics of `vectors`";
  auto isSame = [](HyperOp a, HyperOp b) {
    return a.getNameAttr() == b.getNameAttr() && a.getDefaultValueAttr() == b.getDefaultValueAttr();
  };
  if (!llvm::equal(vectors.getBody().template getOps<HyperOp>(),
                   matrices.getBody().template getOps<HyperOp>(), isSame))
    return matrices.emitOpError() << "must have the hyperparameters of `vectors`";
  // variants_c3
  const llvm::StringMap<StateType> first = statesOf(vectors);
  for (const auto &state : statesOf(matrices)) {
    auto same = first.find(state.getKey());
    if (same != first.end() && !(same->getValue() == state.getValue()))
      return matrices.emitOpError()
             << "has the state \"" << state.getKey() << "\" of another type than `vectors`";
  }
  return success();
}

} // namespace

LogicalResult VariantsOp::verifyRegions() {
  for (Region &region : getOperation()->getRegions())
    if (!llvm::hasSingleElement(region.front()))
      return emitOpError() << "has a region without exactly one operation";
  if (auto vectors = dyn_cast<RuleOp>(getVectorForm()))
    if (auto matrices = dyn_cast<RuleOp>(getMatrixForm()))
      return verifyForms(vectors, matrices);
  if (auto vectors = dyn_cast<PlanOp>(getVectorForm()))
    if (auto matrices = dyn_cast<PlanOp>(getMatrixForm()))
      return verifyForms(vectors, matrices);
  return emitOpError() << "must have two `updraft.rule` or two `updraft.plan`";
}
