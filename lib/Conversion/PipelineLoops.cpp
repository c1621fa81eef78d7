//===- PipelineLoops.cpp - The second half of an iteration beside the first half of the next --===//
// A CPU begins an operation of the next iteration early only if all that lies in between fits into
// its window. Where an iteration has a long chain of operations and many others, it does not, and
// the units that compute wait. Cut in two, with the halves of two iterations side by side, the
// chains are half as long.

#include "StreamAddress.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "updraft/Conversion/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_PIPELINELOOPSPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

/// What an operation costs, in cycles: those of Zen 3, which others are not far from.
struct Cost {
  unsigned latency;
  unsigned divider = 0; ///< for how long it occupies the one unit that divides
};

Cost costOf(Operation &op) {
  auto isOf = [](TypeRange types, auto predicate) {
    return llvm::any_of(types, [&](Type type) { return predicate(getElementTypeOrSelf(type)); });
  };
  bool isDouble = isOf(op.getResultTypes(), [](Type type) { return type.isF64(); });
  return TypeSwitch<Operation *, Cost>(&op)
      .Case<arith::ConstantOp, arith::BitcastOp, vector::BitCastOp, LLVM::GEPOp, LLVM::StoreOp,
            LLVM::Prefetch>([](auto) { return Cost{0}; })
      .Case([](LLVM::LoadOp) { return Cost{8}; })
      .Case([&](arith::DivFOp) { return isDouble ? Cost{13, 5} : Cost{11, 3}; })
      .Case([&](math::SqrtOp) { return isDouble ? Cost{20, 9} : Cost{15, 5}; })
      .Default([&](Operation *op) {
        return Cost{isOf(op->getOperandTypes(), llvm::IsaPred<FloatType>) ? 3u : 1u};
      });
}

int64_t lanesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

/// Whether each half makes the value for itself: constants, addresses and what they are made of.
bool isRemade(Operation &op) {
  return isa<arith::ConstantOp, LLVM::GEPOp>(op) ||
         (op.getNumResults() == 1 && !isa<LLVM::LoadOp>(op) &&
          !isa<VectorType>(op.getResult(0).getType()));
}

/// A loop over vectors, and its operations by halves.
class LoopHalves {
public:
  LoopHalves(scf::ForOp loop, unsigned vectorBits)
      : loop(loop), body(*loop.getBody()), vectorBits(vectorBits) {}

  /// Whether all iterations are whole, and each has elements of its own, which it reads before it
  /// writes any. Streams may be the same, but do not overlap otherwise.
  bool isIndependent();
  /// Whether the units wait for the chain of an iteration if `window` vectors are in flight.
  bool waits(unsigned window);
  /// Decides on the second half. False if more than `limit` vectors would cross into it.
  bool cut(unsigned limit);
  void rewrite();
  /// Whether the number of iterations is known. Then the second halves can be a loop of their own,
  /// which finds what crosses in memory.
  bool isCounted();
  bool split();

private:
  bool hasWholeIterations();
  bool findCombinations();
  bool combinesEarly() const;
  bool isOwnElement(Value address, Type type);
  unsigned registersOf(Operation &op) const;
  void cutAt(unsigned cycle);
  bool isAgain(Operation &op) const;
  LLVM::StoreOp keptBy(Value value) const;
  void moveToSecond(unsigned cycle);
  void findCarried();
  void sinkLoads();
  void cloneHalf(OpBuilder &builder, bool isSecond, Value number, IRMapping &map);
  SmallVector<Value> cloneFirst(OpBuilder &builder, Value number, ValueRange combined);
  void cloneSecond(OpBuilder &builder, Value number, ValueRange begun);
  SmallVector<Value> makeLoop(OpBuilder &builder, Value next, ValueRange begun);

  scf::ForOp loop;
  Block &body;
  unsigned vectorBits;
  int64_t step = 0;
  std::optional<int64_t> count;                ///< of elements, if it is known
  llvm::DenseMap<Operation *, unsigned> start; ///< the cycle in which it can begin
  llvm::DenseMap<Operation *, unsigned> rest;  ///< cycles from its beginning to the last end
  unsigned latency = 0;                        ///< of an iteration
  llvm::DenseSet<Operation *> second;
  llvm::DenseSet<Operation *> combinations; ///< whose results the loop carries
  SetVector<Value> carried;
};

// The upper bound is the lower one and a multiple of the step.
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
  if (matchPattern(end.getRhs().getDefiningOp<arith::AndIOp>().getLhs(), m_ConstantInt(&elements)))
    count = elements.getSExtValue() & -step;
  return count.has_value();
}

bool LoopHalves::isOwnElement(Value address, Type type) {
  std::optional<StreamAddress> found = StreamAddress::match(address, loop);
  return found && found->element == getElementTypeOrSelf(type) && lanesOf(type) == step;
}

// What both halves can be made of: vectors that cross as they are, and numbers that each half makes
// again.
static bool isSplittable(Operation &op) {
  auto isPlain = [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return getElementTypeOrSelf(type).isIntOrFloat() && !(vector && vector.isScalable());
  };
  auto isVector = llvm::IsaPred<VectorType>;
  if (op.getNumRegions() != 0 || op.getNumResults() == 0 || !isMemoryEffectFree(&op))
    return false;
  if (isRemade(op))
    return llvm::none_of(op.getOperandTypes(), isVector);
  return llvm::all_of(op.getResultTypes(), isVector) && llvm::all_of(op.getResultTypes(), isPlain);
}

// Not volatile, atomic or of a scalable vector.
template <typename Access> static bool isPlainAccess(Access access, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return !access.getVolatile_() && access.getOrdering() == LLVM::AtomicOrdering::not_atomic &&
         !(vector && vector.isScalable());
}

// What the loop carries is combined with something of each iteration, and used for nothing else.
bool LoopHalves::findCombinations() {
  for (auto [argument, result] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Operation *combine = result.getDefiningOp();
    if (!combine || combine->getBlock() != &body || !argument.hasOneUse() ||
        *argument.user_begin() != combine || !result.hasOneUse())
      return false;
    combinations.insert(combine);
  }
  return true;
}

// Whether the first half has all that is combined.
bool LoopHalves::combinesEarly() const {
  return llvm::none_of(combinations, [&](Operation *combine) {
    return llvm::any_of(combine->getOperands(),
                        [&](Value operand) { return second.contains(operand.getDefiningOp()); });
  });
}

bool LoopHalves::isIndependent() {
  APInt constant;
  if (!findCombinations() || !matchPattern(loop.getStep(), m_ConstantInt(&constant)))
    return false;
  step = constant.getSExtValue();
  bool stores = false;
  for (Operation &op : body.without_terminator()) {
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      if (stores || !isPlainAccess(load, load.getType()) ||
          !isOwnElement(load.getAddr(), load.getType()))
        return false;
    } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      stores = true;
      Type type = store.getValue().getType();
      if (!isPlainAccess(store, type) || !isOwnElement(store.getAddr(), type))
        return false;
    } else if (isa<LLVM::Prefetch>(op)) {
      continue;
    } else if (!isSplittable(op)) {
      return false;
    }
  }
  return stores && step > 1 && hasWholeIterations();
}

// How many the values of `op` take. What `cut` need not carry is not in flight for long.
unsigned LoopHalves::registersOf(Operation &op) const {
  if (isRemade(op) || isa<arith::BitcastOp, vector::BitCastOp, LLVM::Prefetch>(op))
    return 0;
  Type type = isa<LLVM::StoreOp>(op) ? op.getOperand(0).getType() : op.getResult(0).getType();
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
  // Three operations on vectors begin in each cycle. A body that fills the window alone would do so
  // in halves.
  unsigned busy = std::max(registers / 3, divider);
  return latency * registers > window * busy && registers < 2 * window;
}

// Memory of the function: nothing but itself has it, and no two addresses in it that the loop is
// given are of the same elements.
static bool isOfFunction(Value address) {
  while (auto pointer = address.getDefiningOp<LLVM::GEPOp>())
    address = pointer.getBase();
  return !!address.getDefiningOp<LLVM::AllocaOp>();
}

// The store by which the first half keeps a value for longer: in memory of the function, of which
// no two addresses that the loop is given are of the same elements.
LLVM::StoreOp LoopHalves::keptBy(Value value) const {
  for (Operation *user : value.getUsers())
    if (auto store = dyn_cast<LLVM::StoreOp>(user);
        store && store.getValue() == value && isOfFunction(store.getAddr()))
      return store;
  return {};
}

// Two loops write no stream before the second, which can then load from streams.
bool LoopHalves::isAgain(Operation &op) const {
  return isRemade(op) || (count && isa<LLVM::LoadOp>(op));
}

// What is computed late at no loss crosses as what it is made of, if that is no more.
void LoopHalves::moveToSecond(unsigned cycle) {
  auto isMovable = [&](Operation &op) {
    return !second.contains(&op) && !isRemade(op) &&
           !isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::Prefetch>(op) && !combinations.contains(&op) &&
           costOf(op).divider == 0 && latency - rest[&op] >= cycle &&
           llvm::all_of(op.getUsers(), [&](Operation *user) { return second.contains(user); });
  };
  // With all that nothing else needs.
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
    if (isRemade(op) || isa<LLVM::LoadOp, LLVM::Prefetch>(op) || combinations.contains(&op))
      continue;
    bool isSecond = start[&op] >= cycle;
    if (auto store = dyn_cast<LLVM::StoreOp>(op); store && count)
      isSecond =
          !isOfFunction(store.getAddr()) || second.contains(store.getValue().getDefiningOp());
    if (isSecond)
      second.insert(&op);
  }
  findCarried();
}

// Near the middle of the chain, where the fewest values cross.
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

void LoopHalves::cloneHalf(OpBuilder &builder, bool isSecond, Value number, IRMapping &map) {
  map.map(loop.getInductionVar(), number);
  for (Operation &op : body.without_terminator())
    if (isRemade(op) || second.contains(&op) == isSecond)
      builder.clone(op, map);
}

// To just before what the first half uses them for, those of the second half to the end: fewer are
// alive at a time. Every load stays before every store.
void LoopHalves::sinkLoads() {
  auto operations = body.without_terminator();
  auto firstStore = llvm::find_if(operations, [](Operation &op) { return isa<LLVM::StoreOp>(op); });
  for (LLVM::LoadOp load : llvm::to_vector(body.getOps<LLVM::LoadOp>())) {
    Operation *before = &*firstStore;
    for (Operation *user : load->getUsers())
      if (!second.contains(user) && user->isBeforeInBlock(before))
        before = user;
    load->moveBefore(before);
  }
}

// `combined` is what the loop carries. Returns what crosses, and what the loop carries then.
SmallVector<Value> LoopHalves::cloneFirst(OpBuilder &builder, Value number, ValueRange combined) {
  IRMapping map;
  map.map(loop.getRegionIterArgs(), combined);
  cloneHalf(builder, /*isSecond=*/false, number, map);
  SmallVector<Value> values(carried.getArrayRef());
  llvm::append_range(values, loop.getYieldedValues());
  for (Value &value : values)
    value = map.lookup(value);
  return values;
}

void LoopHalves::cloneSecond(OpBuilder &builder, Value number, ValueRange begun) {
  IRMapping map;
  map.map(carried.getArrayRef(), begun.take_front(carried.size()));
  cloneHalf(builder, /*isSecond=*/true, number, map);
}

// The loop from number `next` on, which there is; its results are the values that the last
// iteration began with. The test is at the end: from one at the start, LLVM would move up what the
// second halves in the loop and after it have in common.
SmallVector<Value> LoopHalves::makeLoop(OpBuilder &builder, Value next, ValueRange begun) {
  Location loc = loop.getLoc();
  Value upper = loop.getUpperBound(), width = loop.getStep();
  SmallVector<Value> initial = {next};
  llvm::append_range(initial, begun);
  auto both = scf::WhileOp::create(
      builder, loc, ValueRange(initial).getTypes(), initial,
      [&](OpBuilder &nested, Location, ValueRange state) {
        state.front().setLoc(loop.getInductionVar().getLoc());
        SmallVector<Value> following =
            cloneFirst(nested, state.front(), state.drop_front(1 + carried.size()));
        Value previous = arith::SubIOp::create(nested, loc, state.front(), width);
        cloneSecond(nested, previous, state.drop_front());
        Value after = arith::AddIOp::create(nested, loc, state.front(), width);
        following.insert(following.begin(), after);
        Value more = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::slt, after, upper);
        scf::ConditionOp::create(nested, loc, more, following);
      },
      [&](OpBuilder &nested, Location, ValueRange state) {
        scf::YieldOp::create(nested, loc, state);
      });
  return SmallVector<Value>(both.getResults().drop_front());
}

void LoopHalves::rewrite() {
  sinkLoads();
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), width = loop.getStep();
  auto isLess = [&](OpBuilder &builder, Value number) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number, upper);
  };
  auto some = scf::IfOp::create(
      builder, loc, isLess(builder, lower),
      [&](OpBuilder &nested, Location) {
        SmallVector<Value> begun = cloneFirst(nested, lower, loop.getInitArgs());
        Value next = arith::AddIOp::create(nested, loc, lower, width);
        auto ended = scf::IfOp::create(
            nested, loc, isLess(nested, next),
            [&](OpBuilder &more, Location) {
              scf::YieldOp::create(more, loc, makeLoop(more, next, begun));
            },
            [&](OpBuilder &none, Location) { scf::YieldOp::create(none, loc, begun); });
        cloneSecond(nested, arith::SubIOp::create(nested, loc, upper, width), ended.getResults());
        scf::YieldOp::create(nested, loc, ended.getResults().drop_front(carried.size()));
      },
      [&](OpBuilder &nested, Location) { scf::YieldOp::create(nested, loc, loop.getInitArgs()); });
  loop.replaceAllUsesWith(some.getResults());
  loop.erase();
}

bool LoopHalves::split() {
  auto bytesOf = [](Value value) -> unsigned {
    return getElementTypeOrSelf(value).getIntOrFloatBitWidth() / 8;
  };
  auto canKeep = [&](Value value) {
    return lanesOf(value.getType()) == step && bytesOf(value) > 0;
  };
  if (!llvm::all_of(carried, canKeep))
    return false;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  llvm::DenseMap<Value, Value> memory;
  for (Value value : carried) {
    if (keptBy(value))
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        &loop->getParentOfType<FunctionOpInterface>().getFunctionBody().front());
    Value size = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(*count));
    memory[value] =
        LLVM::AllocaOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                               getElementTypeOrSelf(value), size, /*alignment=*/64);
  }
  // The place of what crosses from the iteration `number`; `map` has the addresses in it.
  auto placeOf = [&](OpBuilder &nested, Value value, Value number, IRMapping &map) -> Value {
    if (LLVM::StoreOp store = keptBy(value))
      return map.lookup(store.getAddr());
    Value base = memory.lookup(value);
    Value index = arith::SubIOp::create(nested, loc, number, loop.getLowerBound());
    return LLVM::GEPOp::create(nested, loc, base.getType(), getElementTypeOrSelf(value), base,
                               ArrayRef(LLVM::GEPArg(index)));
  };
  auto cloneAll = [&](OpBuilder &nested, IRMapping &map, auto predicate) {
    for (Operation &op : body.without_terminator())
      if (predicate(op))
        nested.clone(op, map);
  };
  auto makeLoop = [&](ValueRange initial, auto makeHalf) {
    return scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                              loop.getStep(), initial,
                              [&](OpBuilder &nested, Location, Value number, ValueRange combined) {
                                IRMapping map;
                                number.setLoc(loop.getInductionVar().getLoc());
                                map.map(loop.getInductionVar(), number);
                                map.map(loop.getRegionIterArgs(), combined);
                                // Addresses, first.
                                cloneAll(nested, map, [](Operation &op) { return isRemade(op); });
                                scf::YieldOp::create(nested, loc, makeHalf(nested, number, map));
                              });
  };
  auto early = makeLoop(loop.getInitArgs(), [&](OpBuilder &nested, Value number, IRMapping &map) {
    cloneAll(nested, map, [&](Operation &op) { return !isRemade(op) && !second.contains(&op); });
    for (Value value : carried)
      if (!keptBy(value))
        LLVM::StoreOp::create(nested, loc, map.lookup(value), placeOf(nested, value, number, map),
                              bytesOf(value));
    return llvm::map_to_vector(loop.getYieldedValues(),
                               [&](Value value) { return map.lookup(value); });
  });
  makeLoop({}, [&](OpBuilder &nested, Value number, IRMapping &map) {
    for (Value value : carried)
      map.map(value, LLVM::LoadOp::create(nested, loc, value.getType(),
                                          placeOf(nested, value, number, map), bytesOf(value)));
    cloneAll(nested, map,
             [&](Operation &op) { return second.contains(&op) || isa<LLVM::LoadOp>(op); });
    return SmallVector<Value>();
  });
  loop.replaceAllUsesWith(early.getResults());
  loop.erase();
  return true;
}

struct PipelineLoopsPass : impl::PipelineLoopsPassBase<PipelineLoopsPass> {
  using PipelineLoopsPassBase::PipelineLoopsPassBase;

  void runOnOperation() override {
    if (vectorBits == 0) {
      getOperation().emitError("vectors have no 0 bits; `vector-bits` is at least 1");
      return signalPassFailure();
    }
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      LoopHalves halves(loop, vectorBits);
      if (!halves.isIndependent() || !halves.waits(window))
        continue;
      bool isCounted = halves.isCounted();
      if ((isCounted && !splitCounted) || !halves.cut(maxCarried))
        continue;
      if (!isCounted)
        halves.rewrite();
      else if (!halves.split())
        continue;
      ++pipelinedLoops;
    }
  }
};

} // namespace
} // namespace updraft
