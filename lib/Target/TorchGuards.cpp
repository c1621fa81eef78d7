//===- TorchGuards.cpp - Guards for gradients in a rule ---------------------------------------===//

#include "TorchGuards.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace updraft;
using namespace updraft::torch;

namespace {

/// How the derivative of an operation depends on the value of an operand.
enum class Derivative {
  Bounded,  ///< bounded for operands of any value
  Factor,   ///< infinite or NaN only if an operand is
  Singular, ///< infinite at some finite values
};

bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

Value withoutCasts(Value value) {
  while (isa_and_present<arith::TruncFOp, arith::ExtFOp, arith::SIToFPOp, arith::FPToSIOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Whether the value is positive in every step.
bool isPositive(Value value) {
  value = withoutCasts(value);
  FloatAttr real;
  IntegerAttr integer;
  if (matchPattern(value, m_Constant(&real)))
    return !real.getValue().isNegative() && real.getValue().isNormal();
  if (matchPattern(value, m_Constant(&integer)))
    return integer.getValue().isStrictlyPositive();
  return isa_and_present<StepOp, SizeOp>(value.getDefiningOp());
}

/// Whether the rule keeps the value positive by a lower bound: a number, or a hyperparameter whose
/// default is positive.
bool hasFloor(Value value) {
  value = withoutCasts(value);
  Operation *op = value.getDefiningOp();
  return isa_and_present<arith::MaximumFOp, arith::MaxNumFOp>(op) &&
         llvm::any_of(op->getOperands(), [](Value operand) {
           auto hyper = withoutCasts(operand).getDefiningOp<HyperOp>();
           return isPositive(operand) || (hyper && hyper.getDefaultValue() > llvm::APFloat(0.0));
         });
}

Derivative derivativeBy(OpOperand &operand) {
  using enum Derivative;
  if (isConstant(operand.get()) || isPositive(operand.get()))
    return Bounded;
  unsigned number = operand.getOperandNumber();
  return llvm::TypeSwitch<Operation *, Derivative>(operand.getOwner())
      .Case<math::SqrtOp, math::LogOp, math::ExpOp, math::PowFOp>([](auto) { return Singular; })
      .Case([](math::FPowIOp power) { return isPositive(power.getRhs()) ? Factor : Singular; })
      .Case([&](arith::DivFOp) { return number == 1 ? Singular : Factor; })
      .Case([&](arith::RemFOp) { return number == 1 ? Singular : Bounded; })
      .Case([&](math::FmaOp) { return number == 2 ? Bounded : Factor; })
      .Case<arith::MulFOp, math::TanhOp, math::AbsFOp>([](auto) { return Factor; })
      .Default([](Operation *) { return Bounded; });
}

bool givesAnOperand(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReductionKind::max;
  return isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op);
}

/// Whether the operands of the condition are equal if the choice is not taken. They are then
/// finite, because one is a constant.
bool isEqualElsewhere(Choice choice) {
  auto compare = choice.of.getDefiningOp<arith::CmpFOp>();
  return compare && (isConstant(compare.getLhs()) || isConstant(compare.getRhs())) &&
         compare.getPredicate() ==
             (choice.which ? arith::CmpFPredicate::UNE : arith::CmpFPredicate::OEQ);
}

/// Whether the condition contains a comparison that implies that the value is positive.
bool showsPositive(Value condition, Value value) {
  SmallVector<Value> open = {condition};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (isa<arith::AndIOp>(op))
      open.append(op->operand_begin(), op->operand_end());
    auto compare = dyn_cast<arith::CmpFOp>(op);
    if (!compare)
      continue;
    bool isLess = compare.getPredicate() == arith::CmpFPredicate::OLT;
    Value larger = isLess ? compare.getRhs() : compare.getLhs();
    FloatAttr bound;
    if ((isLess || compare.getPredicate() == arith::CmpFPredicate::OGT) && larger == value &&
        matchPattern(isLess ? compare.getLhs() : compare.getRhs(), m_Constant(&bound)) &&
        (bound.getValue().isZero() || !bound.getValue().isNegative()))
      return true;
  }
  return false;
}

/// Whether the guard implies that the value is positive.
bool showsPositive(const Guard *guard, Value value) {
  for (; guard && guard->kind == Guard::Chosen; guard = guard->outer)
    if (guard->choice.isCondition() && guard->choice.which &&
        showsPositive(guard->choice.of, value))
      return true;
  return false;
}

/// Whether `inner` implies `outer`: it is `outer` with further choices.
bool implies(const Guard *inner, const Guard *outer) {
  while (inner && inner != outer)
    inner = inner->kind == Guard::Chosen ? inner->outer : nullptr;
  return inner;
}

} // namespace

bool torch::passesGradient(OpOperand &operand) {
  Operation *op = operand.getOwner();
  return isa<FloatType>(op->getResult(0).getType()) && isa<FloatType>(operand.get().getType());
}

Guards::Guards(ArrayRef<Value> roots, Value skip, const llvm::DenseSet<Operation *> &needed,
               llvm::DenseSet<Operation *> given)
    : given(std::move(given)), extents(roots.front().getDefiningOp()->getParentOfType<RuleOp>()),
      skip(skip) {
  for (Operation &op : roots.front().getDefiningOp()->getBlock()->without_terminator())
    if (needed.contains(&op)) {
      numbers[&op] = operations.size();
      operations.push_back(&op);
    }
  always = make({Guard::Always});
  findDifferentiable();
  byConditions = find(roots, skip, /*withExtremes=*/false);
  byAll = find(roots, skip, /*withExtremes=*/true);
  findReplacements();
  findDiffering(/*everywhere=*/false);
}

const Guard *Guards::make(Guard guard) {
  auto [entry, isNew] = known.try_emplace(
      {guard.kind, guard.outer, guard.choice.of.getAsOpaquePointer(),
       guard.kind == Guard::Anywhere ? unsigned(guard.extent) : guard.choice.which,
       std::vector<const Guard *>(guard.parts.begin(), guard.parts.end())});
  if (isNew) {
    guard.number = made.size();
    entry->second = &made.emplace_back(std::move(guard));
  }
  return entry->second;
}

const Guard *Guards::chosen(const Guard *outer, Choice choice, Extent extent) {
  for (const Guard *guard = outer; guard; guard = guard->outer)
    if (guard->kind == Guard::Chosen && guard->choice.of == choice.of &&
        guard->choice.which == choice.which)
      return outer;
  return make({Guard::Chosen, outer, choice, {}, join(outer->extent, extent)});
}

const Guard *Guards::either(ArrayRef<const Guard *> parts) {
  llvm::SetVector<const Guard *> all;
  SmallVector<const Guard *> open(parts.rbegin(), parts.rend());
  while (!open.empty()) {
    const Guard *part = open.pop_back_val();
    if (part == always)
      return always;
    // Both sides of a condition.
    if (part->kind == Guard::Chosen && part->choice.isCondition()) {
      const Guard *other = make(
          {Guard::Chosen, part->outer, {part->choice.of, !part->choice.which}, {}, part->extent});
      if (all.remove(other)) {
        open.push_back(part->outer);
        continue;
      }
    }
    all.insert(part);
  }
  SmallVector<const Guard *> wide;
  for (const Guard *part : all) {
    const Guard *outer = part->kind == Guard::Chosen ? part->outer : nullptr;
    while (outer && !all.contains(outer))
      outer = outer->kind == Guard::Chosen ? outer->outer : nullptr;
    if (!outer)
      wide.push_back(part);
  }
  if (wide.size() == 1)
    return wide.front();
  llvm::sort(wide, [](auto left, auto right) { return left->number < right->number; });
  Extent extent = Extent::model;
  for (const Guard *part : wide)
    extent = join(extent, part->extent);
  return make({Guard::Either, nullptr, {}, {wide.begin(), wide.end()}, extent});
}

// A broadcast value has a gradient if any of its copies has one.
const Guard *Guards::within(const Guard *guard, Extent extent) {
  return isWithin(guard->extent, join(extent, Extent::tensor))
             ? guard
             : make({Guard::Anywhere, guard, {}, {}, extent});
}

Guards::ByValue Guards::find(ArrayRef<Value> roots, Value skip, bool withExtremes) {
  ByValue result;
  llvm::DenseMap<Value, SmallVector<const Guard *>> parts;
  for (Value root : roots)
    if (root != skip)
      parts[root].push_back(skip ? chosen(always, {skip, 0}, extents.of(skip)) : always);
  for (Operation *op : llvm::reverse(operations)) {
    Value value = op->getResult(0);
    auto found = parts.find(value);
    if (found == parts.end())
      continue; // only conditions use it
    const Guard *guard = within(either(found->second), extents.of(value));
    parts.erase(value);
    result[value] = guard;
    if (given.contains(op))
      continue;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!differentiable.contains(operand.get()) || !passesGradient(operand))
        continue;
      unsigned number = operand.getOperandNumber();
      const Guard *part = guard;
      if (auto select = dyn_cast<arith::SelectOp>(op))
        part =
            chosen(guard, {select.getCondition(), number == 1}, extents.of(select.getCondition()));
      else if (withExtremes && givesAnOperand(op))
        part = chosen(guard, {value, number}, join(extents.of(value), extents.of(operand.get())));
      parts[operand.get()].push_back(part);
    }
  }
  return result;
}

void Guards::findDifferentiable() {
  for (Operation *op : operations)
    if (given.contains(op) || llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
          return differentiable.contains(operand.get()) && passesGradient(operand);
        }))
      differentiable.insert(op->getResult(0));
}

/// Returns the operations whose results affect the choice, element by element. For a skipped step
/// this includes operations behind reductions, which decide about skipping.
llvm::BitVector Guards::lookedAtBy(Choice choice) const {
  llvm::BitVector result(operations.size());
  if (isEqualElsewhere(choice))
    return result;
  SmallVector<Operation *> open = {choice.of.getDefiningOp()};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    unsigned number = numbers.at(op);
    if (result.test(number))
      continue;
    result.set(number);
    if (given.contains(op) || (isa<ReduceOp>(op) && choice.of != skip))
      continue;
    for (Value operand : op->getOperands())
      open.push_back(operand.getDefiningOp());
  }
  return result;
}

/// Whether the guard may exist to exclude some values of `value`.
bool Guards::looksAt(const Guard *guard, Value value) {
  while (lookedAt.size() < made.size()) {
    const Guard *next = &made[lookedAt.size()];
    llvm::BitVector all;
    if (next->outer)
      all |= lookedAt.lookup(next->outer);
    for (const Guard *part : next->parts)
      all |= lookedAt.lookup(part);
    if (next->kind == Guard::Chosen)
      all |= lookedAtBy(next->choice);
    lookedAt.try_emplace(next, all);
  }
  const llvm::BitVector &all = lookedAt.find(guard)->second;
  unsigned number = numbers.at(value.getDefiningOp());
  return number < all.size() && all.test(number);
}

bool Guards::isClean(Value value, const Guard *under) const {
  return clean.contains(value) && implies(byConditions.lookup(value), under);
}

void Guards::findReplacements() {
  llvm::DenseSet<Value> ofExtremes; // may differ from the values that a maximum needs
  llvm::DenseSet<Value> spoilt;     // by values that a condition checks
  llvm::DenseSet<Value> ofHypers;   // depend only on hyperparameters
  llvm::DenseSet<Value> infinite;   // those from a hyperparameter with an infinite default
  for (Operation *op : operations) {
    Value value = op->getResult(0);
    auto isOfHypers = [&](Value of) { return isConstant(of) || ofHypers.contains(of); };
    if (auto hyper = dyn_cast<HyperOp>(op)) {
      ofHypers.insert(value);
      if (std::isinf(hyper.getDefaultValue().convertToDouble()))
        infinite.insert(value);
    } else if (!given.contains(op) && op->getNumOperands() &&
               llvm::all_of(op->getOperands(), isOfHypers)) {
      ofHypers.insert(value);
      if (llvm::any_of(op->getOperands(), [&](Value of) { return infinite.contains(of); }))
        infinite.insert(value);
    }
    const Guard *all = byAll.lookup(value), *conditions = byConditions.lookup(value);
    if (!all || given.contains(op) || !differentiable.contains(value))
      continue;
    // A value that depends only on hyperparameters may be infinite, but that spoils only its own
    // gradient, and is not worth a check of every element.
    if (ofHypers.contains(value) && all->kind == Guard::Anywhere)
      all = conditions;
    bool isSpoilt = false, isOfExtremes = false;
    bool isSingular = llvm::any_of(op->getOpOperands(), [](OpOperand &operand) {
      return derivativeBy(operand) == Derivative::Singular;
    });
    for (OpOperand &operand : op->getOpOperands()) {
      Value of = operand.get();
      if (!passesGradient(operand))
        continue;
      Derivative derivative = derivativeBy(operand);
      bool spoils = conditions != always && differentiable.contains(of) &&
                    !isClean(of, conditions) && (spoilt.contains(of) || looksAt(conditions, of));
      const Guard *guard = always;
      if (derivative == Derivative::Singular)
        guard = showsPositive(conditions, of) || hasFloor(of) ? conditions : all;
      else if (derivative == Derivative::Factor && spoils)
        guard = conditions;
      else if (derivative == Derivative::Factor && (isSingular ? ofHypers : infinite).contains(of))
        guard = all;
      if (guard != always)
        replacements[&operand] = guard;
      else
        isSpoilt |= spoils;
      isOfExtremes |= ofExtremes.contains(of) || (guard != always && guard != conditions);
      if (givesAnOperand(op) && ofExtremes.contains(of))
        merges[&operand] = chosen(always, {value, operand.getOperandNumber()},
                                  join(extents.of(value), extents.of(of)));
    }
    if (conditions != always)
      (isSpoilt ? spoilt : clean).insert(value);
    if (isOfExtremes && all != always)
      ofExtremes.insert(value);
  }
}

// If gradients flow to a value everywhere, none of its operands differs.
void Guards::findDiffering(bool everywhere) {
  for (Operation *op : operations) {
    Value value = op->getResult(0);
    bool isChanged = llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
      return passesGradient(operand) &&
             (replacements.contains(&operand) || differing.contains(operand.get()));
    });
    if (isChanged && !given.contains(op) && (everywhere || byAll.lookup(value) != always))
      differing.insert(value);
  }
}
