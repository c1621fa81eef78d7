//===- FuseEpilogues.cpp - Sums that products compute where they store tiles ------------------===//

#include "Updraft/IR/Locations.h"
#include "Updraft/IR/Products.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Epilogues.h"
#include "Updraft/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#include <array>

using namespace mlir;
using namespace updraft;

namespace {

/// Returns the element of a stream that the sweep reads.
BlockArgument elementOf(SweepOp sweep, Value stream) {
  const auto read = llvm::find(sweep.getReads(), stream);
  return sweep.getBody().getArgument(sweep.getScalars().size() + (read - sweep.getReads().begin()));
}

/// Finds the sum of a product and a matrix in a sweep.
class EpilogueMatcher {
public:
  EpilogueMatcher(SweepOp sweep, std::string &reason) : sweep(sweep), reason(reason) {}

  std::optional<Epilogue> match() {
    found.updates = changesOne();
    found.product = productOf();
    if (!found.product || !matchSum())
      return std::nullopt;
    found.updates &= isStored(found.sum) && !found.product.getSymmetric();
    if (found.updates) {
      reason = problemOfUpdate();
      found.updates = reason.empty();
    }
    if (!found.updates && found.product.getAddend())
      return std::nullopt;
    reason = problemOfAddend();
    if (!reason.empty())
      return std::nullopt;
    return found;
  }

private:
  /// Whether the sweep only writes one stream, and reads that one and another one.
  bool changesOne() {
    return sweep.getNumResults() == 0 && sweep.getWrites().size() == 1 &&
           sweep.getReads().size() == 2 &&
           llvm::is_contained(sweep.getReads(), sweep.getWrites().front());
  }

  /// Whether the first stored value is `value`.
  bool isStored(Value value) {
    return sweep.getBody().front().getTerminator()->getOperand(0) == value;
  }

  /// Returns the last product that only the sweep reads and that can have another matrix.
  MultiplyOp productOf() {
    MultiplyOp last;
    for (Value read : sweep.getReads()) {
      auto product = read.getDefiningOp<MultiplyOp>();
      if (product && product->hasOneUse() && (found.updates || !product.getAddend()) &&
          (!last || last->isBeforeInBlock(product)))
        last = product;
    }
    return last;
  }

  /// Returns the stream of which `value` is an element, if the sweep uses no element of it again.
  Value streamOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || !argument.hasOneUse() || argument.getArgNumber() < sweep.getScalars().size())
      return {};
    return sweep.getReads()[argument.getArgNumber() - sweep.getScalars().size()];
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

  /// Matches an element times a scale, in either order. Sets `stream` to that of the element.
  bool matchFactors(Value left, Value right, Value &stream, OpFoldResult &scale) {
    for (auto [element, factor] : {std::pair(left, right), std::pair(right, left)})
      if (Value read = streamOf(element); read && matchScale(factor, scale)) {
        stream = read;
        return true;
      }
    return false;
  }

  /// Matches an element, or one times a scale that nothing else uses.
  bool matchScaled(Value value, Value &stream, OpFoldResult &scale) {
    if ((stream = streamOf(value)))
      return true;
    auto scaled = value.getDefiningOp<arith::MulFOp>();
    return scaled && scaled->hasOneUse() &&
           matchFactors(scaled.getLhs(), scaled.getRhs(), stream, scale);
  }

  bool matchSum() {
    Value term = elementOf(sweep, found.product.getResult());
    if (!term.hasOneUse())
      return false;
    Operation *user = *term.user_begin();
    if (isa<arith::MulFOp>(user)) {
      term = user->getResult(0);
      if (!term.hasOneUse())
        return false;
      user = *term.user_begin();
    }
    if (!isa<arith::AddFOp, arith::SubFOp, math::FmaOp>(user))
      return false;
    found.sum = user->getResult(0);
    const bool isFast = sweep->getParentOfType<PlanOp>().getFast();
    Value product;
    if (auto fma = dyn_cast<math::FmaOp>(user))
      return isFast && fma.getC() == term && matchScaled(term, product, found.scale) &&
             matchFactors(fma.getA(), fma.getB(), found.addend, found.addendScale);
    Value other = user->getOperand(user->getOperand(0) == term ? 1 : 0);
    // A fast plan rounds a scaled addend and the sum at once.
    if (!matchScaled(term, product, found.scale) ||
        !matchScaled(other, found.addend, found.addendScale) || (isFast && found.addendScale))
      return false;
    return !isa<arith::SubFOp>(user) ||
           negate(user->getOperand(1) == term ? found.scale : found.addendScale);
  }

  /// Negates a constant scale. Returns false for a scalar, because no prologue negates it.
  bool negate(OpFoldResult &scale) {
    if (isa_and_present<Value>(scale))
      return false;
    auto constant = dyn_cast_if_present<Attribute>(scale);
    scale = constant ? FloatAttr::get(found.sum.getType(), -cast<FloatAttr>(constant).getValue())
                     : FloatAttr::get(found.sum.getType(), -1.0);
    return true;
  }

  std::string problemOfAddend() {
    if (found.addend.getType() != found.product.getType())
      return "the other matrix is not of the product's shape and type";
    if (sweep.getCondition() != found.product.getCondition())
      return "it has another condition than the product";
    if (found.product.getSymmetric() && !isSymmetricStream(found.addend))
      return "the other matrix may not be symmetric, as the product is";
    return problemOfOrder();
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
      if (isBetween(user) && llvm::is_contained(writtenBy(user), found.addend))
        return "an operation between the product and it writes the other matrix";
    return "";
  }

  /// The product changes the matrix before the sweep would.
  std::string problemOfUpdate() {
    for (Operation *user : found.addend.getUsers()) {
      if (user == found.product)
        return "the product reads the matrix that it would update";
      if (isBetween(user))
        return "an operation between the product and it reads the other matrix";
    }
    for (auto commit : sweep->getBlock()->getOps<CommitOp>())
      if (Value skip = commit.getSkip();
          skip && !skip.getDefiningOp()->isBeforeInBlock(found.product))
        return "the step may still be skipped after the product";
    return "";
  }

  bool isBetween(Operation *operation) {
    return found.product->isBeforeInBlock(operation) && operation->isBeforeInBlock(sweep);
  }

  SweepOp sweep;
  std::string &reason;
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

/// Erases an operation without users, and the operations that it alone used.
void eraseIfUnused(Operation *operation) {
  if (!operation || !isOpTriviallyDead(operation))
    return;
  const llvm::SmallSetVector<Value, 4> operands(llvm::from_range, operation->getOperands());
  operation->erase();
  for (Value operand : operands)
    eraseIfUnused(operand.getDefiningOp());
}

/// Constants as results of a plan's first prologue.
class PlanConstants {
public:
  explicit PlanConstants(PlanOp plan) {
    auto prologues = plan.getBody().getOps<PrologueOp>();
    if (!prologues.empty())
      prologue = *prologues.begin();
  }

  /// Makes the constant a result, unless it is one. The prologue is then another operation. Returns
  /// false if no prologue runs before `user`.
  bool add(FloatAttr constant, Operation *user) {
    if (!prologue || !prologue->isBeforeInBlock(user))
      return false;
    if (!positions.insert({constant, prologue.getNumResults()}).second)
      return true;
    Operation *yield = prologue.getBody().front().getTerminator();
    OpBuilder builder(yield);
    yield->insertOperands(
        yield->getNumOperands(),
        arith::ConstantOp::create(builder, unnamed(prologue.getLoc()), constant).getResult());
    builder.setInsertionPoint(prologue);
    auto made = PrologueOp::create(builder, prologue.getLoc(), yield->getOperandTypes(),
                                   prologue.getInputs());
    made.getBody().takeBody(prologue.getBody());
    prologue.replaceAllUsesWith(made.getResults().drop_back());
    prologue.erase();
    prologue = made;
    return true;
  }

  /// Returns a scale whose constant was added. Null stays null.
  Value valueOf(OpFoldResult scale) {
    if (auto constant = dyn_cast_if_present<Attribute>(scale))
      return prologue.getResult(positions.at(cast<FloatAttr>(constant)));
    return dyn_cast_if_present<Value>(scale);
  }

private:
  PrologueOp prologue;
  llvm::DenseMap<FloatAttr, unsigned> positions;
};

struct FuseEpiloguesPass : impl::FuseEpiloguesPassBase<FuseEpiloguesPass> {
  void runOnOperation() override {
    for (PlanOp plan : formsIn<PlanOp>(getOperation()))
      if (plan.multiplies())
        fuse(plan);
  }

private:
  void fuse(PlanOp plan) {
    PlanConstants constants(plan);
    for (auto each : llvm::make_early_inc_range(plan.getBody().getOps<SweepOp>())) {
      SweepOp sweep = each;
      while (sweep && fuseOne(sweep, constants))
        ; // a sweep can have several sums
    }
  }

  /// Makes a product compute a sum of the sweep, and sets `sweep` to what is left of it, or null.
  /// Returns whether a product computes one.
  bool fuseOne(SweepOp &sweep, PlanConstants &constants) {
    std::string reason;
    std::optional<Epilogue> epilogue = epilogueOf(sweep, reason);
    if (!epilogue)
      return false;
    const bool areKnown =
        llvm::all_of(std::array{epilogue->scale, epilogue->addendScale}, [&](OpFoldResult scale) {
          auto constant = dyn_cast_if_present<Attribute>(scale);
          return !constant || constants.add(cast<FloatAttr>(constant), epilogue->product);
        });
    if (!areKnown)
      return false;
    epilogue = epilogueOf(sweep, reason); // new constants replace the results of the prologue
    sweep = fuse(sweep, *epilogue, constants.valueOf(epilogue->scale),
                 constants.valueOf(epilogue->addendScale));
    return true;
  }

  /// Returns what is left of the sweep, or null.
  SweepOp fuse(SweepOp sweep, Epilogue &epilogue, Value scale, Value addendScale) {
    MultiplyOp product = epilogue.product;
    // The sum has the places of all operations that it replaces.
    Operation *sum = epilogue.sum.getDefiningOp();
    Location place = fusedInto(sum->getLoc(), product.getLoc());
    for (Value term : sum->getOperands())
      if (auto scaled = term.getDefiningOp<arith::MulFOp>())
        place = fusedInto(place, scaled.getLoc());
    OpBuilder builder(product);
    auto fused = cast<MultiplyOp>(builder.clone(*product));
    fused->setLoc(place);
    auto set = [](MutableOperandRange operand, Value value) {
      if (value)
        operand.assign(value);
    };
    set(epilogue.updates ? fused.getSumScaleMutable() : fused.getScaleMutable(), scale);
    set(epilogue.updates ? fused.getTargetMutable() : fused.getAddendMutable(), epilogue.addend);
    set(epilogue.updates ? fused.getTargetScaleMutable() : fused.getAddendScaleMutable(),
        addendScale);
    SweepOp rest;
    if (epilogue.updates)
      sweep.erase();
    else
      rest = takeSum(sweep, epilogue, fused);
    product.erase();
    ++fusedSums;
    return rest;
  }

  /// Makes the sweep read the sum in place of the product and the matrix. A result of the sweep
  /// that is the sum becomes the product's. Returns what is left of the sweep, or null.
  SweepOp takeSum(SweepOp sweep, Epilogue &epilogue, MultiplyOp fused) {
    Block &body = sweep.getBody().front();
    const unsigned scalars = sweep.getScalars().size();
    BlockArgument element = elementOf(sweep, epilogue.product.getResult());
    BlockArgument unused = elementOf(sweep, epilogue.addend);
    element.setLoc(fused.getLoc());
    epilogue.sum.replaceAllUsesWith(element);
    eraseIfUnused(epilogue.sum.getDefiningOp());
    sweep.getReadsMutable()[element.getArgNumber() - scalars].set(fused);
    sweep.getReadsMutable().erase(unused.getArgNumber() - scalars);
    body.eraseArgument(unused.getArgNumber());
    for (unsigned scalar = scalars; scalar-- != 0;)
      if (body.getArgument(scalar).use_empty()) {
        sweep.getScalarsMutable().erase(scalar);
        body.eraseArgument(scalar);
      }
    return withoutResult(sweep, element, fused);
  }

  /// Returns the sweep without the result that `element` is, which `sum` replaces.
  SweepOp withoutResult(SweepOp sweep, Value element, Value sum) {
    auto store = cast<StoreOp>(sweep.getBody().front().getTerminator());
    const auto made = llvm::find(store.getMade(), element);
    if (made == store.getMade().end())
      return sweep;
    const unsigned temporary = made - store.getMade().begin();
    const unsigned dropped = sweep.getReductions().size() + temporary;
    store.getMadeMutable().erase(temporary);
    SmallVector<Type> types;
    for (OpResult result : sweep.getResults())
      if (result.getResultNumber() != dropped)
        types.push_back(result.getType());
    sweep.getResult(dropped).replaceAllUsesWith(sum);
    SweepOp rest;
    if (!types.empty() || !sweep.getWrites().empty()) {
      OpBuilder builder(sweep);
      rest = SweepOp::create(builder, sweep.getLoc(), types, sweep.getOver(), sweep.getScalars(),
                             sweep.getReads(), sweep.getWrites(), sweep.getReductions(),
                             sweep.getCondition());
      rest.getBody().takeBody(sweep.getBody());
      for (unsigned result = 0; result < types.size(); ++result)
        sweep.getResult(result + (result >= dropped)).replaceAllUsesWith(rest.getResult(result));
    }
    sweep.erase();
    return rest;
  }
};

} // namespace
} // namespace updraft
