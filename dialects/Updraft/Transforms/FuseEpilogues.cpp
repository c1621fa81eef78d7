//===- FuseEpilogues.cpp - Sums that products compute where they store tiles ------------------===//

#include "Updraft/IR/Locations.h"
#include "Updraft/IR/Products.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Epilogues.h"
#include "Updraft/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace updraft;

namespace {

/// Finds the sum that a sweep computes.
class EpilogueMatcher {
public:
  EpilogueMatcher(SweepOp sweep, std::string &reason) : sweep(sweep), reason(reason) {}

  std::optional<Epilogue> match() {
    found.product = productOf();
    if (!found.product)
      return std::nullopt;
    reason = problemOfStreams();
    if (reason.empty() && !matchSum())
      reason = "it computes more than a sum with scalar factors";
    if (reason.empty())
      reason = problemOfOrder();
    if (!reason.empty())
      return std::nullopt;
    return found;
  }

private:
  /// Returns the last product that has no addend and no other reader than the sweep.
  MultiplyOp productOf() {
    MultiplyOp last;
    for (Value read : sweep.getReads()) {
      auto product = read.getDefiningOp<MultiplyOp>();
      if (product && product->hasOneUse() && !product.getAddend() &&
          (!last || last->isBeforeInBlock(product)))
        last = product;
    }
    return last;
  }

  std::string problemOfStreams() {
    if (!sweep.getReductions().empty())
      return "it reduces values";
    if (!sweep.getWrites().empty())
      return "it writes the parameter or a state";
    if (sweep.getNumResults() != 1)
      return llvm::formatv("it makes {0} matrices", sweep.getNumResults()).str();
    if (sweep.getReads().size() != 2)
      return llvm::formatv("it reads {0} other streams, a product adds one matrix",
                           sweep.getReads().size() - 1)
          .str();
    isSecond = sweep.getReads()[1] == found.product.getResult();
    found.addend = sweep.getReads()[isSecond ? 0 : 1];
    if (found.addend.getType() != found.product.getType())
      return "its other stream is not a matrix of the product's shape and type";
    if (sweep.getCondition() != found.product.getCondition())
      return "it has another condition than the product";
    if (found.product.getSymmetric() && !isSymmetricStream(found.addend))
      return "its other matrix may not be symmetric, as the product is";
    return "";
  }

  Value elementOf(bool ofSecond) {
    return sweep.getBody().getArgument(sweep.getScalars().size() + (ofSecond ? 1 : 0));
  }

  /// Whether `value` is the same for all elements. Sets `scale` to it.
  bool matchScale(Value value, OpFoldResult &scale) {
    if (FloatAttr constant; matchPattern(value, m_Constant(&constant))) {
      scale = constant;
      return true;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getArgNumber() >= sweep.getScalars().size())
      return false;
    scale = sweep.getScalars()[argument.getArgNumber()];
    return true;
  }

  bool matchFactors(Value left, Value right, Value element, OpFoldResult &scale) {
    return (left == element && matchScale(right, scale)) ||
           (right == element && matchScale(left, scale));
  }

  bool matchScaled(Value value, Value element, OpFoldResult &scale) {
    if (value == element)
      return true;
    auto product = value.getDefiningOp<arith::MulFOp>();
    return product && matchFactors(product.getLhs(), product.getRhs(), element, scale);
  }

  bool matchSum() {
    found.sum = cast<StoreOp>(sweep.getBody().front().getTerminator()).getMade().front();
    Value product = elementOf(isSecond), addend = elementOf(!isSecond);
    const bool isFast = sweep->getParentOfType<PlanOp>().getFast();
    if (auto fma = found.sum.getDefiningOp<math::FmaOp>())
      return isFast && matchScaled(fma.getC(), product, found.scale) &&
             matchFactors(fma.getA(), fma.getB(), addend, found.addendScale);
    auto sum = found.sum.getDefiningOp<arith::AddFOp>();
    if (!sum)
      return false;
    auto matchTerms = [&](Value first, Value second) {
      return matchScaled(first, product, found.scale) &&
             matchScaled(second, addend, found.addendScale);
    };
    // A fast plan rounds a scaled addend and the sum at once.
    return (matchTerms(sum.getLhs(), sum.getRhs()) || matchTerms(sum.getRhs(), sum.getLhs())) &&
           !(isFast && found.addendScale);
  }

  /// The product runs before the sweep.
  std::string problemOfOrder() {
    auto isLate = [&](OpFoldResult operand) {
      auto value = dyn_cast_if_present<Value>(operand);
      return value && !value.getDefiningOp()->isBeforeInBlock(found.product);
    };
    if (isLate(found.addend) || isLate(found.scale) || isLate(found.addendScale))
      return "it needs values that are computed after the product";
    for (Operation *user : found.addend.getUsers())
      if (auto other = dyn_cast<SweepOp>(user);
          other && llvm::is_contained(other.getWrites(), found.addend) &&
          found.product->isBeforeInBlock(other) && other->isBeforeInBlock(sweep))
        return "a sweep between the product and it writes its other matrix";
    return "";
  }

  SweepOp sweep;
  std::string &reason;
  bool isSecond = false; // of the streams that the sweep reads, the second is the product
  Epilogue found;
};

} // namespace

std::optional<Epilogue> updraft::epilogueOf(SweepOp sweep, std::string &reason) {
  reason.clear();
  return EpilogueMatcher(sweep, reason).match();
}

namespace updraft {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

using Constants = llvm::MapVector<FloatAttr, Value>;

/// Adds the constants to the results of the prologue.
void addResults(PrologueOp prologue, Constants &constants) {
  Operation *yield = prologue.getBody().front().getTerminator();
  OpBuilder builder(yield);
  SmallVector<Value> values;
  for (auto &[constant, value] : constants)
    values.push_back(arith::ConstantOp::create(builder, unnamed(prologue.getLoc()), constant));
  yield->insertOperands(yield->getNumOperands(), values);
  builder.setInsertionPoint(prologue);
  auto made = PrologueOp::create(builder, prologue.getLoc(), yield->getOperandTypes(),
                                 prologue.getInputs());
  made.getBody().takeBody(prologue.getBody());
  prologue.replaceAllUsesWith(made.getResults().drop_back(constants.size()));
  prologue.erase();
  for (auto [constant, result] :
       llvm::zip(constants, made.getResults().take_back(constants.size())))
    constant.second = result;
}

struct FuseEpiloguesPass : impl::FuseEpiloguesPassBase<FuseEpiloguesPass> {
  void runOnOperation() override {
    for (PlanOp plan : formsIn<PlanOp>(getOperation()))
      if (plan.multiplies())
        fuse(plan);
  }

private:
  void fuse(PlanOp plan) {
    auto prologues = plan.getBody().getOps<PrologueOp>();
    auto products = plan.getBody().getOps<MultiplyOp>();
    if (prologues.empty() || !(*prologues.begin())->isBeforeInBlock(*products.begin()))
      return; // not from the scheduler
    std::string reason;
    Constants constants;
    for (auto sweep : plan.getBody().getOps<SweepOp>())
      if (std::optional<Epilogue> epilogue = epilogueOf(sweep, reason))
        for (OpFoldResult scale : {epilogue->scale, epilogue->addendScale})
          if (auto constant = dyn_cast_if_present<Attribute>(scale))
            constants.insert({cast<FloatAttr>(constant), Value()});
    if (!constants.empty())
      addResults(*prologues.begin(), constants);
    auto valueOf = [&](OpFoldResult scale) {
      auto constant = dyn_cast_if_present<Attribute>(scale);
      return constant ? constants.lookup(cast<FloatAttr>(constant))
                      : dyn_cast_if_present<Value>(scale);
    };
    for (auto sweep : llvm::make_early_inc_range(plan.getBody().getOps<SweepOp>()))
      if (std::optional<Epilogue> epilogue = epilogueOf(sweep, reason))
        fuse(sweep, *epilogue, valueOf(epilogue->scale), valueOf(epilogue->addendScale));
  }

  void fuse(SweepOp sweep, const Epilogue &epilogue, Value scale, Value addendScale) {
    MultiplyOp product = epilogue.product;
    // It has the places of all operations that it replaces, and the name of the sum.
    Location place = fusedInto(epilogue.sum.getLoc(), product.getLoc());
    for (Operation &operation : sweep.getBody().front().without_terminator())
      if (!operation.hasTrait<OpTrait::ConstantLike>())
        place = fusedInto(place, operation.getLoc());
    OpBuilder builder(product);
    auto fused = MultiplyOp::create(
        builder, place, product.getType(), product.getOperandFormatAttr(), product.getSymmetric(),
        product.getLhs(), product.getLhsTransposed(), product.getRhs(), product.getRhsTransposed(),
        scale, epilogue.addend, addendScale, product.getCondition());
    sweep.getResult(0).replaceAllUsesWith(fused);
    sweep.erase();
    product.erase();
    ++fusedSweeps;
  }
};

} // namespace
} // namespace updraft
