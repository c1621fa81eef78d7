//===- OrientProducts.cpp - Matrices as the parameter lies in memory --------------------------===//
// A rule may compute with the transpose of the parameter. This pass rewrites such values to their
// transposes, which are matrices of rows and columns again. The transposes that remain are operands
// of products, which read a transposed matrix at no cost, or are made in memory.

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/Products.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/Slice.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_ORIENTPRODUCTSPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

class Orienter {
public:
  explicit Orienter(RuleOp rule) : rule(rule), builder(rule.getContext()) {}

  unsigned run();

private:
  Value transposeOf(Value value);
  Value makeTranspose(Value value);
  bool isInArithmetic(TransposeOp transpose);
  bool hasTranspose(Value square);
  Value transposeElementwise(Operation &operation);
  Extent of(Value value) { return extentOf(value); }

  RuleOp rule;
  OpBuilder builder;
  DenseMap<Value, Value> transposes;
};

/// Marks symmetric products. Then rewrites transposes of values that go down the parameter's
/// columns, and operands of products that do. Returns the number of transposes that the rule no
/// longer has.
unsigned Orienter::run() {
  Block &body = rule.getBody().front();
  auto count = [&] {
    auto all = body.getOps<TransposeOp>();
    return unsigned(std::distance(all.begin(), all.end()));
  };
  unsigned before = count();
  for (auto product : body.getOps<ProductOp>())
    product.setSymmetric(hasSymmetricResult(product));
  for (Operation &operation : llvm::make_early_inc_range(body)) {
    if (auto product = dyn_cast<ProductOp>(operation)) {
      for (OpOperand &operand : product->getOpOperands())
        if (isTransposedExtent(of(operand.get())) && !operand.get().getDefiningOp<TransposeOp>()) {
          Value other = transposeOf(operand.get());
          builder.setInsertionPoint(product);
          operand.set(TransposeOp::create(builder, product.getLoc(), other.getType(), other));
        }
      continue;
    }
    auto transpose = dyn_cast<TransposeOp>(operation);
    if (!transpose)
      continue;
    const bool isSquare = isInArithmetic(transpose);
    if (isSquare && !hasTranspose(transpose.getInput())) {
      builder.setInsertionPoint(transpose);
      auto made = ApplyOp::create(builder, transpose.getLoc(), transpose.getType(),
                                  MatrixFunction::transpose, transpose.getInput());
      transpose.getResult().replaceUsesWithIf(
          made, [](OpOperand &use) { return !isa<ProductOp>(use.getOwner()); });
      continue;
    }
    if (!isSquare && !isTransposedExtent(of(transpose.getInput())) &&
        !isSymmetric(transpose.getInput()))
      continue;
    Value result = transposeOf(transpose.getInput());
    if (result != transpose.getResult())
      transpose.getResult().replaceAllUsesWith(result);
  }
  // Another form of the rule may need a reduction that this one doesn't.
  for (Operation &operation : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&operation) && !isa<ReduceOp>(operation))
      operation.erase();
  unsigned after = count();
  return before > after ? before - after : 0;
}

/// Whether anything but products needs the transpose of a square matrix.
bool Orienter::isInArithmetic(TransposeOp transpose) {
  Extent extent = of(transpose.getInput());
  return extent == transposed(extent) && !isSymmetric(transpose.getInput()) &&
         !llvm::all_of(transpose->getUsers(), llvm::IsaPred<ProductOp>);
}

/// Whether `transposeOf` can compute the transpose of a square matrix. Values of its rows or
/// columns would become values of the other, and a sweep reads states as they are in memory.
bool Orienter::hasTranspose(Value square) {
  SmallVector<Value> open{square};
  DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Extent extent = of(value);
    if (isWithin(extent, Extent::batch) || !seen.insert(value).second)
      continue;
    if (!isMatrixExtent(extent) || isa<StateOp, ApplyOp>(value.getDefiningOp()))
      return false;
    if (!isa<ProductOp, TransposeOp>(value.getDefiningOp()) && !isSymmetric(value))
      llvm::append_range(open, value.getDefiningOp()->getOperands());
  }
  return true;
}

/// Returns a value that is the transpose of `value`. It is an operation `updraft.transpose` only if
/// `value` is in memory as it is: an input, a product or a function of matrices.
Value Orienter::transposeOf(Value value) {
  Value &known = transposes[value];
  if (known)
    return known;
  Operation *operation = value.getDefiningOp();
  Value result =
      TypeSwitch<Operation *, Value>(operation)
          .Case([&](TransposeOp transpose) { return transpose.getInput(); })
          .Case([&](ProductOp product) -> Value {
            if (isSymmetric(value))
              return value;
            // Factors commute in a fused multiply-add, so the bits are the same.
            Value lhs = makeTranspose(product.getRhs()), rhs = makeTranspose(product.getLhs());
            UnitAttr symmetric = product.getSymmetricAttr();
            builder.setInsertionPoint(product);
            return ProductOp::create(builder, product.getLoc(), product.getType(),
                                     product.getOperandFormatAttr(), symmetric, lhs, rhs);
          })
          .Case([&](BroadcastOp broadcast) -> Value {
            Value input = transposeOf(broadcast.getInput());
            builder.setInsertionPoint(broadcast);
            return BroadcastOp::create(builder, broadcast.getLoc(), broadcast.getType(), input,
                                       transposed(broadcast.getOver()));
          })
          .Case<TensorInputOpInterface, RandomOp, ApplyOp>(
              [&](auto) { return makeTranspose(value); })
          .Default([&](Operation *other) -> Value {
            if (isWithin(of(value), Extent::batch) || isSymmetric(value))
              return value;
            return transposeElementwise(*other);
          });
  return transposes[value] = result;
}

Value Orienter::makeTranspose(Value value) {
  if (auto transpose = value.getDefiningOp<TransposeOp>())
    return transpose.getInput();
  if (isSymmetric(value))
    return value;
  builder.setInsertionPointAfterValue(value);
  return TransposeOp::create(builder, value.getLoc(), value.getType(), value);
}

Value Orienter::transposeElementwise(Operation &operation) {
  IRMapping map;
  for (Value operand : operation.getOperands())
    map.map(operand, transposeOf(operand));
  builder.setInsertionPoint(&operation);
  return builder.clone(operation, map)->getResult(0);
}

struct OrientProductsPass : impl::OrientProductsPassBase<OrientProductsPass> {
  void runOnOperation() override {
    for (RuleOp rule : formsIn<RuleOp>(getOperation())) {
      if (rule.getBody().getOps<ProductOp>().empty() &&
          rule.getBody().getOps<TransposeOp>().empty())
        continue;
      removedTransposes += Orienter(rule).run();
    }
  }
};

} // namespace
} // namespace updraft
