//===- StateList.cpp - The states of a rule's plans, as one list ------------------------------===//

#include "updraft/Conversion/StateList.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace updraft {

SmallVector<PlanState> statesOf(PlanOp plan) {
  SmallVector<PlanState> states;
  unsigned streams = 0;
  for (Operation &op : plan.getBody().front()) {
    if (auto stream = dyn_cast<StreamOp>(op)) {
      if (streams++ >= 2)
        states.push_back({stream.getName(), stream.getType().getStorage(),
                          stream.getType().getOver(), stream.getFromStep(), states.size(),
                          std::nullopt, op.getLoc()});
    } else if (auto scalar = dyn_cast<ScalarOp>(op)) {
      states.push_back({scalar.getName(), scalar.getStorage(), scalar.getOver(), /*fromStep=*/false,
                        states.size(), std::nullopt, op.getLoc()});
    }
  }
  return states;
}

SmallVector<PlanState> statesOf(PlanOp first, PlanOp matrix) {
  SmallVector<PlanState> firstStates = statesOf(first);
  if (!matrix)
    return firstStates;
  SmallVector<PlanState> matrixStates = statesOf(matrix), all;
  auto rest = matrixStates.begin();
  auto takeMatrixState = [&] {
    all.push_back(*rest);
    std::swap(all.back().inFirst, all.back().inMatrix);
    ++rest;
  };
  for (PlanState &state : firstStates) {
    auto same = std::find_if(rest, matrixStates.end(),
                             [&](const PlanState &other) { return other.name == state.name; });
    if (same == matrixStates.end()) {
      all.push_back(state);
      continue;
    }
    while (rest != same)
      takeMatrixState();
    takeMatrixState();
    all.back().inFirst = state.inFirst;
    all.back().fromStep |= state.fromStep;
  }
  while (rest != matrixStates.end())
    takeMatrixState();
  return all;
}

PlanOp matrixPlanOf(PlanOp plan) {
  auto variants = dyn_cast<VariantsOp>(plan->getParentOp());
  return variants && !plan.getMatrix() ? cast<PlanOp>(variants.getMatrixForm()) : PlanOp();
}

bool hasRuleFunctions(PlanOp plan) {
  if (plan.isBesideUnprobed())
    return false;
  auto variants = dyn_cast<VariantsOp>(plan->getParentOp());
  return !variants || variants.getForms().front() == plan;
}

Operation *placeOf(PlanOp plan) {
  auto variants = dyn_cast<VariantsOp>(plan->getParentOp());
  return variants ? variants.getOperation() : plan.getOperation();
}

void erasePlans(ModuleOp module) {
  llvm::SmallSetVector<Operation *, 2> places;
  for (PlanOp plan : formsIn<PlanOp>(module))
    places.insert(placeOf(plan));
  for (Operation *place : places)
    place->erase();
}

} // namespace updraft
