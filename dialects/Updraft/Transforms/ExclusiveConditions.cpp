//===- ExclusiveConditions.cpp - Conditions that never hold in one step -----------------------===//

#include "Updraft/Transforms/ExclusiveConditions.h"

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace updraft;

/// Returns the flags that all hold if a result of a prologue holds, itself included.
static llvm::SetVector<Value> conjunctsOf(OpResult result) {
  auto prologue = result.getDefiningOp<PrologueOp>();
  llvm::SetVector<Value> conjuncts;
  conjuncts.insert(
      prologue.getBody().front().getTerminator()->getOperand(result.getResultNumber()));
  // The list grows during the loop.
  for (size_t i = 0; i < conjuncts.size(); ++i)
    if (auto both = conjuncts[i].getDefiningOp<arith::AndIOp>())
      conjuncts.insert(both->operand_begin(), both->operand_end());
  return conjuncts;
}

/// Whether one flag is `not` of the other one.
static bool areOpposite(Value first, Value second) {
  auto isNot = [](Value flag, Value other) {
    auto change = flag.getDefiningOp<arith::XOrIOp>();
    return change && change.getLhs() == other && matchPattern(change.getRhs(), m_One());
  };
  return isNot(first, second) || isNot(second, first);
}

bool updraft::neverHoldTogether(Value first, Value second) {
  if (!first || !second || first == second || first.getDefiningOp() != second.getDefiningOp())
    return false;
  const llvm::SetVector<Value> ofFirst = conjunctsOf(cast<OpResult>(first)),
                               ofSecond = conjunctsOf(cast<OpResult>(second));
  return llvm::any_of(ofFirst, [&](Value flag) {
    return llvm::any_of(ofSecond, [&](Value other) { return areOpposite(flag, other); });
  });
}
