//===- PlanFacts.cpp - The cost of a plan, in numbers and words -------------------------------===//

#include "PlanFacts.h"

#include "Formula.h"
#include "TypeName.h"
#include "Updraft/IR/StorageSize.h"
#include "Updraft/Transforms/Epilogues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace updraft;

double updraft::bytesOf(Value stream) {
  return storageBits(cast<StreamType>(stream.getType()).getStorage()) / 8;
}

std::string updraft::bytesText(double bytes) {
  return llvm::formatv(bytes == std::floor(bytes) ? "{0:f0}" : "{0:f2}", bytes).str();
}

static unsigned flopsOf(Operation &op) {
  if (isa<math::FmaOp>(op))
    return 2;
  if (op.getDialect()->getNamespace() == math::MathDialect::getDialectNamespace())
    return 1;
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op);
}

Extent updraft::overOf(Value stream) { return cast<StreamType>(stream.getType()).getOver(); }

double updraft::bytesPerElement(ValueRange streams) {
  double bytes = 0;
  for (Value stream : streams)
    if (overOf(stream) == Extent::element)
      bytes += bytesOf(stream);
  return bytes;
}

std::string updraft::describe(ReductionAttr reduction) {
  return (stringifyReductionKind(reduction.getKind()) + " over " +
          stringifyExtent(reduction.getOver()))
      .str();
}

/// Names a product, sweep or call by its number among those of its plan.
static std::string numbered(Operation *operation) {
  StringRef kind = isa<MultiplyOp>(operation) ? "product"
                   : isa<CallOp>(operation)   ? "call"
                                              : "sweep";
  auto all = llvm::make_range(operation->getBlock()->begin(), operation->getIterator());
  const auto number = llvm::count_if(
      all, [&](Operation &other) { return other.getName() == operation->getName(); });
  return llvm::formatv("{0} {1}", kind, number).str();
}

std::string updraft::describe(Value stream) {
  std::string storage = " " + typeName(cast<StreamType>(stream.getType()).getStorage());
  if (auto op = stream.getDefiningOp<StreamOp>())
    return op.getName().str() + storage;
  if (isMatrixExtent(overOf(stream)))
    return (stream.getDefiningOp<MultiplyOp>() ? "" : "matrix of ") +
           numbered(stream.getDefiningOp()) + storage;
  if (auto call = stream.getDefiningOp<CallOp>())
    return stringifyMatrixFunction(call.getFunction()).str() + storage;
  auto sweep = stream.getDefiningOp<SweepOp>();
  unsigned index = cast<OpResult>(stream).getResultNumber();
  auto reductions = llvm::to_vector(sweep.getReductionRange());
  if (index < reductions.size())
    return describe(reductions[index]) + storage;
  return ("value per " + stringifyExtent(overOf(stream))).str() + storage;
}

std::string updraft::formulaOfScalar(Value scalar, bool isFactor) {
  auto result = cast<OpResult>(scalar);
  Operation *yield = cast<PrologueOp>(result.getOwner()).getBody().front().getTerminator();
  Value value = yield->getOperand(result.getResultNumber());
  llvm::SetVector<Value> named;
  auto name = dyn_cast<NameLoc>(value.getLoc());
  return name ? name.getName().str() : formulaOf(value, named, isFactor);
}

std::string updraft::describeCondition(Value condition) {
  if (!condition)
    return "";
  return ", in steps where " + formulaOfScalar(condition);
}

Sides updraft::sidesOf(Extent matrix) {
  auto down = [](Extent extent) {
    return hasChosenDown(extent) ? "chosen" : isWithin(Extent::row, extent) ? "rows" : "columns";
  };
  return {down(matrix), down(transposed(matrix))};
}

Sides updraft::sidesOf(Value factor, bool isTransposed) {
  return sidesOf(isTransposed ? transposed(overOf(factor)) : overOf(factor));
}

llvm::StringRef updraft::unitOf(Extent over) {
  return isMatrixExtent(over) ? stringifyExtent(Extent::element) : stringifyExtent(over);
}

std::string updraft::describe(Extent over) {
  if (!isMatrixExtent(over) || over == Extent::element)
    return stringifyExtent(over).str();
  auto [down, along] = sidesOf(over);
  return (unitOf(over) + " of " + down + " x " + along).str();
}

double updraft::bytesPerElement(PlanOp plan) {
  double bytes = 0;
  for (auto sweep : plan.getBody().getOps<SweepOp>())
    bytes += bytesPerElement(sweep.getReads()) + bytesPerElement(sweep.getWrites()) +
             bytesPerElement(sweep.getTemporaries());
  // A product reads its target and writes it.
  for (auto product : plan.getBody().getOps<MultiplyOp>())
    if (Value target = product.getTarget())
      bytes += 2 * bytesPerElement(target);
  return bytes;
}

Work updraft::workOf(Block &body) {
  Work work;
  for (Operation &op : body) {
    work.flops += flopsOf(op);
    work.divisions += isa<arith::DivFOp>(op);
    work.roots += isa<math::SqrtOp>(op);
  }
  return work;
}

std::string updraft::describeSum(MultiplyOp product) {
  if (!product.getAddend())
    return "";
  std::string added = describe(product.getAddend());
  if (Value scale = product.getAddendScale())
    added += " times " + formulaOfScalar(scale, /*isFactor=*/true);
  added += " to ";
  if (Value scale = product.getScale())
    added += formulaOfScalar(scale, /*isFactor=*/true) + " times ";
  return added + "the product";
}

std::string updraft::describeUpdate(MultiplyOp product) {
  if (!product.getTarget())
    return "";
  auto times = [](Value scale, StringRef what) {
    return (scale ? formulaOfScalar(scale, /*isFactor=*/true) + " times " : "") + what.str();
  };
  return describe(product.getTarget()) + " to " + times(product.getTargetScale(), "itself") +
         " plus " + times(product.getSumScale(), product.getAddend() ? "the sum" : "the product");
}

std::vector<std::string> updraft::whyNotFused(PlanOp plan, bool isForGPU) {
  std::vector<std::string> reasons;
  auto sweeps = llvm::to_vector(plan.getBody().getOps<SweepOp>());
  if (plan.hasWholeMatrices())
    reasons.push_back(llvm::formatv("a {0} reads whole matrices, so what comes before and after it "
                                    "is in separate sweeps",
                                    plan.multiplies() ? "product" : "function of matrices"));
  if (sweeps.size() == 1)
    reasons.push_back("nothing; every operation on elements is in the one sweep");
  for (unsigned index = 0; index < sweeps.size(); ++index) {
    SweepOp sweep = sweeps[index];
    if (sweep.getReductions().empty() || index + 1 == sweeps.size())
      continue;
    std::string list;
    for (ReductionAttr reduction : sweep.getReductionRange())
      list += (list.empty() ? "" : ", ") + describe(reduction);
    reasons.push_back(llvm::formatv("what comes after sweep {0} needs its {1}", index, list).str());
  }
  std::string reason;
  for (unsigned index = 0; index < sweeps.size() && !isForGPU; ++index)
    if (!epilogueOf(sweeps[index], reason) && !reason.empty())
      reasons.push_back(llvm::formatv("a product doesn't compute the sum in sweep {0}, because {1}",
                                      index, reason)
                            .str());
  return reasons;
}
