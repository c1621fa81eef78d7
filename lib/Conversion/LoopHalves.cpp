//===- LoopHalves.cpp - The operations of a loop over vectors, by halves ----------------------===//

#include "LoopHalves.h"

#include "IterationAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace updraft;

namespace {
/// The cost of an operation in cycles on Zen 3; other CPUs are similar.
struct Cost {
  unsigned latency;
  unsigned divider = 0; ///< cycles for which it occupies the divider
};

Cost costOf(Operation &op) {
  auto isOf = [](TypeRange types, auto predicate) {
    return llvm::any_of(types, [&](Type type) { return predicate(getElementTypeOrSelf(type)); });
  };
  bool isDouble = isOf(op.getResultTypes(), [](Type type) { return type.isF64(); });
  return TypeSwitch<Operation *, Cost>(&op)
      .Case<arith::ConstantOp, arith::BitcastOp, vector::BitCastOp, WriteOp, PrefetchOp>(
          [](auto) { return Cost{0}; })
      .Case([](ReadOp) { return Cost{8}; })
      .Case([&](arith::DivFOp) { return isDouble ? Cost{13, 5} : Cost{11, 3}; })
      .Case([&](math::SqrtOp) { return isDouble ? Cost{20, 9} : Cost{15, 5}; })
      .Default([&](Operation *op) {
        return Cost{isOf(op->getOperandTypes(), llvm::IsaPred<FloatType>) ? 3u : 1u};
      });
}
} // namespace

// The most elements that two loops keep on the stack.
constexpr int64_t mostKept = 4096;

static int64_t lanesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

bool LoopHalves::isRemade(Operation &op) {
  return isa<arith::ConstantOp>(op) || (op.getNumResults() == 1 && !isa<ReadOp>(op) &&
                                        !isa<VectorType>(op.getResult(0).getType()));
}

// Whether the upper bound is the lower bound plus a multiple of the step.
bool LoopHalves::hasWholeIterations() {
  auto end = loop.getUpperBound().getDefiningOp<arith::AddIOp>();
  if (!end || end.getLhs() != loop.getLowerBound())
    return false;
  auto whole = end.getRhs().getDefiningOp<arith::AndIOp>();
  APInt mask;
  return whole && matchPattern(whole.getRhs(), m_ConstantInt(&mask)) && mask == -step &&
         llvm::isPowerOf2_64(step);
}

bool LoopHalves::isCounted() {
  auto end = loop.getUpperBound().getDefiningOp<arith::AddIOp>();
  APInt elements;
  if (!matchPattern(end.getRhs().getDefiningOp<arith::AndIOp>().getLhs(), m_ConstantInt(&elements)))
    return false;
  const int64_t whole = elements.getSExtValue() & -step;
  if (whole > 0 && whole <= mostKept && !rereadsScratch())
    count = whole;
  return count.has_value();
}

// Whether two loops would read scratch memory again after the first one has written it.
bool LoopHalves::rereadsScratch() {
  return llvm::any_of(body.getOps<WriteOp>(), [&](WriteOp write) {
    return isScratch(write.getElements()) && llvm::any_of(body.getOps<ReadOp>(), [&](ReadOp read) {
             return read.getElements() == write.getElements();
           });
  });
}

// Whether each iteration accesses other elements of the memory, also beside the accesses so far.
template <typename Access> bool LoopHalves::isOwnElement(Access access) {
  std::optional<IterationAccess> found = IterationAccess::match(access, loop);
  return found && lanesOf(access.getValues().getType()) == step &&
         origins.try_emplace(found->elements, found->origin).first->second == found->origin;
}

// Whether `op` can be in either half: its vectors can cross to the other half, and each half can
// recompute its numbers.
static bool isSplittable(Operation &op) {
  auto isPlain = [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return getElementTypeOrSelf(type).isIntOrFloat() &&
           !(vector && (vector.isScalable() || vector.getRank() != 1));
  };
  auto isVector = llvm::IsaPred<VectorType>;
  if (op.getNumRegions() != 0 || op.getNumResults() == 0 || !isMemoryEffectFree(&op))
    return false;
  if (LoopHalves::isRemade(op))
    return llvm::none_of(op.getOperandTypes(), isVector);
  return llvm::all_of(op.getResultTypes(), isVector) && llvm::all_of(op.getResultTypes(), isPlain);
}

// Each carried value must be a vector that is combined with a value of each iteration and has no
// other use.
bool LoopHalves::findCombinations() {
  for (auto [argument, result] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Operation *combine = result.getDefiningOp();
    if (!combine || combine->getBlock() != &body || !argument.hasOneUse() ||
        *argument.user_begin() != combine || !result.hasOneUse() || isRemade(*combine))
      return false;
    combinations.insert(combine);
  }
  return true;
}

// Finds sums in scratch memory that nothing else in the loop accesses: `E[i] = E[i] + value`.
void LoopHalves::findSums() {
  llvm::DenseMap<Value, unsigned> accesses;
  for (auto read : body.getOps<ReadOp>())
    ++accesses[withoutShifts(read.getElements())];
  for (auto write : body.getOps<WriteOp>())
    ++accesses[withoutShifts(write.getElements())];
  for (auto write : body.getOps<WriteOp>()) {
    Value elements = write.getElements();
    Operation *combine = write.getValues().getDefiningOp();
    if (!combine || combine->getBlock() != &body || !combine->hasOneUse() ||
        !elements.getDefiningOp<ScratchOp>() || accesses[elements] != 2 || write.getMask())
      continue;
    for (Value operand : combine->getOperands())
      if (auto read = operand.getDefiningOp<ReadOp>();
          read && read->getBlock() == &body && read.getElements() == elements &&
          read.getIndices() == write.getIndices() && read->hasOneUse() && !read.getMask())
        for (Operation *op : {read.getOperation(), combine, write.getOperation()})
          sums[op] = combine;
  }
}

// Whether the first half computes all operands of the combinations.
bool LoopHalves::combinesEarly() const {
  return llvm::none_of(combinations, [&](Operation *combine) {
    return llvm::any_of(combine->getOperands(),
                        [&](Value operand) { return second.contains(operand.getDefiningOp()); });
  });
}

bool LoopHalves::isIndependent() {
  APInt constant;
  if (loop.getUnsignedCmp() || !findCombinations() ||
      !matchPattern(loop.getStep(), m_ConstantInt(&constant)))
    return false;
  step = constant.getSExtValue();
  findSums();
  llvm::SmallDenseSet<Value> writes;
  for (Operation &op : body.without_terminator()) {
    if (sums.contains(&op))
      continue;
    if (auto read = dyn_cast<ReadOp>(op)) {
      if (!writes.empty() || !isOwnElement(read))
        return false;
    } else if (auto write = dyn_cast<WriteOp>(op)) {
      if (!isOwnElement(write) || !writes.insert(write.getElements()).second)
        return false;
    } else if (isa<PrefetchOp>(op)) {
      continue;
    } else if (!isSplittable(op)) {
      return false;
    }
  }
  return !writes.empty() && step > 1 && hasWholeIterations();
}

// Returns the number of registers that the values of `op` occupy for long: none if each half
// recomputes them.
unsigned LoopHalves::registersOf(Operation &op) const {
  if (isRemade(op) || isa<arith::BitcastOp, vector::BitCastOp, PrefetchOp>(op))
    return 0;
  Type type = isa<WriteOp>(op) ? op.getOperand(0).getType() : op.getResult(0).getType();
  unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth() * lanesOf(type);
  return std::max(1u, bits / vectorBits);
}

bool LoopHalves::waits(unsigned window) {
  unsigned registers = 0, divider = 0;
  for (Operation &op : body.without_terminator()) {
    Cost cost = costOf(op);
    unsigned &begin = start[&op];
    for (Value operand : op.getOperands())
      if (Operation *made = operand.getDefiningOp(); made && made->getBlock() == &body)
        begin = std::max(begin, start[made] + costOf(*made).latency);
    latency = std::max(latency, begin + cost.latency);
    registers += registersOf(op);
    divider += cost.divider * registersOf(op);
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    unsigned after = 0;
    for (Operation *user : op.getUsers())
      after = std::max(after, rest[user]);
    rest[&op] = after + costOf(op).latency;
  }
  // Three operations on vectors begin in each cycle. If a body fills the window on its own, its
  // halves would too.
  unsigned busy = std::max(registers / 3, divider);
  return latency * registers > window * busy && registers < 2 * window;
}

WriteOp LoopHalves::keptBy(Value value) const {
  for (Operation *user : value.getUsers())
    if (auto write = dyn_cast<WriteOp>(user);
        write && write.getValues() == value && isScratch(write.getElements()))
      return write;
  return {};
}

// The first of two loops writes nothing that the second one reads, so that one can read it again.
bool LoopHalves::isAgain(Operation &op) const { return isRemade(op) || (count && isa<ReadOp>(op)); }

// Moves operations to the second half if this costs no time and doesn't increase the number of
// values that cross.
void LoopHalves::moveToSecond(unsigned cycle) {
  auto isMovable = [&](Operation &op) {
    return !second.contains(&op) && !isRemade(op) && !isa<ReadOp, WriteOp, PrefetchOp>(op) &&
           !combinations.contains(&op) && costOf(op).divider == 0 && latency - rest[&op] >= cycle &&
           llvm::all_of(op.getUsers(), [&](Operation *user) { return second.contains(user); });
  };
  // In a counted loop, moves an operation together with those that only it needs.
  auto tryMoving = [&](auto range) {
    SmallVector<Operation *> moved;
    for (Operation &op : range)
      if (isMovable(op) && (moved.empty() || count)) {
        second.insert(&op);
        moved.push_back(&op);
      }
    size_t before = carried.size();
    findCarried();
    if (carried.size() <= before)
      return;
    for (Operation *op : moved)
      second.erase(op);
    findCarried();
  };
  auto begin = body.without_terminator().begin(), end = body.without_terminator().end();
  for (auto next = end; next != begin; --next)
    tryMoving(llvm::reverse(llvm::make_range(begin, next)));
}

void LoopHalves::findCarried() {
  carried.clear();
  for (Operation &op : body.without_terminator())
    if (second.contains(&op))
      for (Value operand : op.getOperands())
        if (Operation *made = operand.getDefiningOp();
            made && made->getBlock() == &body && !isAgain(*made) && !second.contains(made))
          carried.insert(operand);
}

void LoopHalves::cutAt(unsigned cycle) {
  second.clear();
  for (Operation &op : body.without_terminator()) {
    Operation *combine = sums.lookup(&op);
    if (!combine && (isRemade(op) || isa<ReadOp, PrefetchOp>(op) || combinations.contains(&op)))
      continue;
    bool isSecond = start[combine ? combine : &op] >= cycle;
    if (auto write = dyn_cast<WriteOp>(op); write && count)
      isSecond =
          !isScratch(write.getElements()) || second.contains(write.getValues().getDefiningOp());
    if (isSecond)
      second.insert(&op);
  }
  findCarried();
}

// Cuts near the middle of the chain, where the fewest values cross.
bool LoopHalves::cut(unsigned limit) {
  llvm::SmallDenseSet<unsigned> tried;
  unsigned middle = latency / 2, best = 0;
  size_t fewest = std::numeric_limits<size_t>::max();
  for (Operation &op : body.without_terminator()) {
    unsigned cycle = start[&op];
    if (cycle < latency / 3 || cycle > 2 * latency / 3 || !tried.insert(cycle).second)
      continue;
    cutAt(cycle);
    if (!combinesEarly())
      continue;
    if (carried.size() < fewest ||
        (carried.size() == fewest &&
         llvm::AbsoluteDifference(cycle, middle) < llvm::AbsoluteDifference(best, middle))) {
      fewest = carried.size();
      best = cycle;
    }
  }
  if (fewest == std::numeric_limits<size_t>::max())
    return false;
  cutAt(best);
  moveToSecond(best);
  return !carried.empty() && carried.size() <= limit;
}
