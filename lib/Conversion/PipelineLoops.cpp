//===- PipelineLoops.cpp - Overlaps halves of consecutive iterations --------------------------===//
// A CPU begins an operation of the next iteration early only if everything in between fits into its
// window. If an iteration has a long chain of operations and many others, it doesn't fit, and the
// arithmetic units wait. With the halves of two iterations side by side, the chains are half as
// long.

#include "ElementPlace.h"
#include "LoopHalves.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "updraft/Conversion/Passes.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_PIPELINELOOPSPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

/// A loop that runs the second half of an iteration beside the first half of the next.
class PipelinedLoop {
public:
  explicit PipelinedLoop(const LoopHalves &halves)
      : halves(halves), loop(halves.getLoop()), body(*loop.getBody()),
        carried(halves.getCarried()) {}

  /// Replaces the loop.
  void make();

private:
  void sinkLoads();
  void cloneHalf(OpBuilder &builder, bool isSecond, Value number, IRMapping &map);
  SmallVector<Value> cloneFirst(OpBuilder &builder, Value number, ValueRange combined);
  void cloneSecond(OpBuilder &builder, Value number, ValueRange begun);
  SmallVector<Value> makeLoop(OpBuilder &builder, Value next, ValueRange begun);

  const LoopHalves &halves;
  scf::ForOp loop;
  Block &body;
  ArrayRef<Value> carried;
};

void PipelinedLoop::cloneHalf(OpBuilder &builder, bool isSecond, Value number, IRMapping &map) {
  map.map(loop.getInductionVar(), number);
  for (Operation &op : body.without_terminator())
    if (LoopHalves::isRemade(op) || halves.isSecond(op) == isSecond)
      builder.clone(op, map);
}

// Moves each load before its first use in the first half, or else before the first store, so that
// fewer values are live at a time. Every load stays before every store.
void PipelinedLoop::sinkLoads() {
  auto operations = body.without_terminator();
  auto firstWrite = llvm::find_if(operations, [](Operation &op) { return isa<WriteOp>(op); });
  for (ReadOp read : llvm::to_vector(body.getOps<ReadOp>())) {
    if (halves.isOfSum(*read))
      continue;
    Operation *before = &*firstWrite;
    for (Operation *user : read->getUsers())
      if (!halves.isSecond(*user) && user->isBeforeInBlock(before))
        before = user;
    read->moveBefore(before);
  }
}

// `combined` holds the carried values. Returns the values that cross, then the new carried values.
SmallVector<Value> PipelinedLoop::cloneFirst(OpBuilder &builder, Value number,
                                             ValueRange combined) {
  IRMapping map;
  map.map(loop.getRegionIterArgs(), combined);
  cloneHalf(builder, /*isSecond=*/false, number, map);
  SmallVector<Value> values(carried);
  llvm::append_range(values, loop.getYieldedValues());
  for (Value &value : values)
    value = map.lookup(value);
  return values;
}

void PipelinedLoop::cloneSecond(OpBuilder &builder, Value number, ValueRange begun) {
  IRMapping map;
  map.map(carried, begun.take_front(carried.size()));
  cloneHalf(builder, /*isSecond=*/true, number, map);
}

// Creates the loop from index `next` on, with at least one iteration. Its results are the values
// with which the last iteration began. The test is at the end: with a test at the start, LLVM would
// hoist code that the second halves in the loop and after it share.
SmallVector<Value> PipelinedLoop::makeLoop(OpBuilder &builder, Value next, ValueRange begun) {
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

void PipelinedLoop::make() {
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

/// Runs the first halves of all iterations in one loop, then the second halves in another loop,
/// which loads crossing values from memory of the function.
class SplitLoop {
public:
  explicit SplitLoop(const LoopHalves &halves)
      : halves(halves), loop(halves.getLoop()), body(*loop.getBody()), builder(loop) {}

  /// Replaces the loop. Returns false, and changes nothing, if crossing values cannot be kept.
  bool make();

private:
  void allocate();
  ElementPlace placeOf(OpBuilder &nested, Value value, Value number, IRMapping &map);
  template <typename Predicate>
  void cloneIf(Predicate predicate, OpBuilder &nested, IRMapping &map);
  template <typename MakeHalf> scf::ForOp makeLoop(ValueRange initial, MakeHalf makeHalf);
  scf::ForOp makeFirst();
  void makeSecond();

  const LoopHalves &halves;
  scf::ForOp loop;
  Block &body;
  OpBuilder builder;
  llvm::DenseMap<Value, Value> memory; // for values that the first half does not store anyway
};

void SplitLoop::allocate() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(
      &loop->getParentOfType<FunctionOpInterface>().getFunctionBody().front());
  for (Value value : halves.getCarried()) {
    if (halves.keptBy(value))
      continue;
    memory[value] = ScratchOp::create(
        builder, loop.getLoc(), ElementsType::get(getElementTypeOrSelf(value)), *halves.getCount());
  }
}

// Returns where a crossing value of the iteration `number` is kept.
ElementPlace SplitLoop::placeOf(OpBuilder &nested, Value value, Value number, IRMapping &map) {
  if (WriteOp write = halves.keptBy(value))
    return {write.getElements(), llvm::map_to_vector<2>(write.getIndices(), [&](Value index) {
              return map.lookupOrDefault(index);
            })};
  return {memory.lookup(value),
          {arith::SubIOp::create(nested, loop.getLoc(), number, loop.getLowerBound())}};
}

template <typename Predicate>
void SplitLoop::cloneIf(Predicate predicate, OpBuilder &nested, IRMapping &map) {
  for (Operation &op : body.without_terminator())
    if (predicate(op))
      nested.clone(op, map);
}

template <typename MakeHalf> scf::ForOp SplitLoop::makeLoop(ValueRange initial, MakeHalf makeHalf) {
  return scf::ForOp::create(
      builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), initial,
      [&](OpBuilder &nested, Location loc, Value number, ValueRange combined) {
        IRMapping map;
        number.setLoc(loop.getInductionVar().getLoc());
        map.map(loop.getInductionVar(), number);
        map.map(loop.getRegionIterArgs(), combined);
        // Numbers come first.
        cloneIf(LoopHalves::isRemade, nested, map);
        scf::YieldOp::create(nested, loc, makeHalf(nested, number, map));
      });
}

scf::ForOp SplitLoop::makeFirst() {
  return makeLoop(loop.getInitArgs(), [&](OpBuilder &nested, Value number, IRMapping &map) {
    cloneIf([&](Operation &op) { return !LoopHalves::isRemade(op) && !halves.isSecond(op); },
            nested, map);
    for (Value value : halves.getCarried())
      if (!halves.keptBy(value)) {
        auto [elements, indices] = placeOf(nested, value, number, map);
        WriteOp::create(nested, loop.getLoc(), map.lookup(value), elements, indices);
      }
    return llvm::map_to_vector(loop.getYieldedValues(),
                               [&](Value value) { return map.lookup(value); });
  });
}

void SplitLoop::makeSecond() {
  makeLoop({}, [&](OpBuilder &nested, Value number, IRMapping &map) {
    for (Value value : halves.getCarried()) {
      auto [elements, indices] = placeOf(nested, value, number, map);
      map.map(value, ReadOp::create(nested, loop.getLoc(), value.getType(), elements, indices));
    }
    cloneIf([&](Operation &op) { return halves.isSecond(op) || isa<ReadOp>(op); }, nested, map);
    return SmallVector<Value>();
  });
}

bool SplitLoop::make() {
  auto canKeep = [&](Value value) {
    auto vector = dyn_cast<VectorType>(value.getType());
    return vector && vector.getNumElements() == halves.getStep() &&
           ElementsType::isElement(vector.getElementType());
  };
  if (!llvm::all_of(halves.getCarried(), canKeep))
    return false;
  allocate();
  scf::ForOp first = makeFirst();
  makeSecond();
  loop.replaceAllUsesWith(first.getResults());
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
      if (!loop->getParentOfType<FunctionOpInterface>() || !halves.isIndependent() ||
          !halves.waits(window))
        continue;
      bool isCounted = halves.isCounted();
      if ((isCounted && !splitCounted) || !halves.cut(maxCarried))
        continue;
      if (!isCounted)
        PipelinedLoop(halves).make();
      else if (!SplitLoop(halves).make())
        continue;
      ++pipelinedLoops;
    }
  }
};

} // namespace
} // namespace updraft
