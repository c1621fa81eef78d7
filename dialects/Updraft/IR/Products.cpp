//===- Products.cpp - Products and transposes of matrices -------------------------------------===//

#include "Updraft/IR/Products.h"

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/UpdraftOps.h"

using namespace mlir;
using namespace updraft;

static bool isElementwise(Operation *operation) {
  return operation->getDialect() && !isa<UpdraftDialect>(operation->getDialect());
}

bool updraft::isSymmetric(Value value) {
  SmallVector<Value> open{value};
  DenseSet<Operation *> seen;
  bool hasMatrix = false;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *operation = next.getDefiningOp();
    if (!operation)
      return false;
    if (!seen.insert(operation).second)
      continue;
    if (auto product = dyn_cast<ProductOp>(operation)) {
      if (!product.getSymmetric())
        return false;
      hasMatrix = true;
    } else if (isa<IdentityOp>(operation)) {
      hasMatrix = true;
    } else if (auto transpose = dyn_cast<TransposeOp>(operation)) {
      open.push_back(transpose.getInput());
    } else if (isElementwise(operation)) {
      llvm::append_range(open, operation->getOperands());
    } else if (!isWithin(extentOf(next), Extent::batch)) {
      return false;
    }
  }
  return hasMatrix;
}

bool updraft::isSymmetricStream(Value stream) {
  SmallVector<Value> open{stream};
  DenseSet<Operation *> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *operation = next.getDefiningOp();
    Extent over = cast<StreamType>(next.getType()).getOver();
    if (!isMatrixExtent(over) || over != transposed(over))
      return false;
    if (operation && !seen.insert(operation).second)
      continue;
    // Random numbers would differ for mirrored elements. A sweep over square matrices has none.
    if (auto sweep = dyn_cast_or_null<SweepOp>(operation)) {
      for (Value read : sweep.getReads())
        if (cast<StreamType>(read.getType()).getOver() != Extent::batch)
          open.push_back(read);
    } else if (auto product = dyn_cast_or_null<MultiplyOp>(operation);
               !product || !product.getSymmetric()) {
      return false;
    }
  }
  return true;
}

ValueRange updraft::writtenBy(Operation *operation) {
  if (auto sweep = dyn_cast<SweepOp>(operation))
    return sweep.getWrites();
  if (auto product = dyn_cast<MultiplyOp>(operation))
    return product.getTargetMutable().getAsOperandRange();
  return {};
}

bool updraft::hasSymmetricResult(ProductOp product) {
  Value lhs = product.getLhs(), rhs = product.getRhs();
  auto isTransposeOf = [](Value value, Value other) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    return transpose && transpose.getInput() == other;
  };
  return product.getSymmetric() || isTransposeOf(lhs, rhs) || isTransposeOf(rhs, lhs) ||
         (lhs == rhs && isSymmetric(lhs));
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (auto inner = getInput().getDefiningOp<TransposeOp>())
    return inner.getInput();
  return isSymmetric(getInput()) ? getInput() : Value();
}
