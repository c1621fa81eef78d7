//===- PlanInterface.cpp - Positions of a plan's values ---------------------------------------===//
// All values are numbered in the order in which the plan declares them.

#include "updraft/Conversion/PlanInterface.h"

#include "updraft/Conversion/StateList.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;

namespace updraft {

static void insertNext(llvm::DenseMap<Value, unsigned> &indices, Value value) {
  indices.insert({value, indices.size()});
}

// Adds the streams of the plan, then the scales of those with blocks.
static void addStreams(PlanInterface &interface, Block &body) {
  for (auto stream : body.getOps<StreamOp>())
    insertNext(interface.streamIndex, stream.getResult());
  for (auto stream : body.getOps<StreamOp>())
    if (isa<BlockedType>(stream.getType().getStorage()))
      interface.scaleIndex.insert({stream.getResult(), interface.streamCount()});
}

static LogicalResult addRow(PlanInterface &interface, PrologueOp prologue, Value skip) {
  for (auto [index, value] : llvm::enumerate(prologue.getResults())) {
    unsigned slot = interface.rowScalarCount++;
    if (interface.nextScalars.contains(value) || interface.probeIndex.contains(value))
      continue;
    if (value.getType() != interface.compute && !value.getType().isInteger(1))
      return prologue.emitOpError()
             << "result #" << index << " is " << value.getType()
             << ", a row holds values of the compute type " << interface.compute
             << " and flags; convert it in the prologue";
    interface.rowIndex.insert({value, value == skip ? 0 : slot});
  }
  return success();
}

namespace {

/// Numbers the temporaries of a plan as streams after its own. Matrices take the number of one of
/// their type that no later operation reads.
class TemporaryNumbers {
public:
  explicit TemporaryNumbers(PlanInterface &interface)
      : interface(interface), count(interface.streamCount()) {}

  /// Temporaries become streams; other reductions are numbers.
  void add(SweepOp sweep) {
    // A sweep reads an element before it writes it, so it may write where it reads.
    release(sweep);
    for (Value result : sweep.getResults())
      if (isa<StreamType>(result.getType()))
        insert(result);
      else
        insertNext(interface.reducedIndex, result);
  }
  /// For products and calls, whose result is not in the memory of an operand.
  void addWhole(Operation *operation) {
    insert(operation->getResult(0));
    release(operation);
  }

  unsigned end() const { return count; }

private:
  static bool isMatrix(Value stream) {
    return isMatrixExtent(cast<StreamType>(stream.getType()).getOver());
  }

  void insert(Value stream) {
    std::set<unsigned> &unused = unusedOfType[stream.getType()];
    if (!isMatrix(stream) || unused.empty())
      interface.streamIndex.insert({stream, count++});
    else
      interface.streamIndex.insert({stream, unused.extract(unused.begin()).value()});
  }

  void release(Operation *reader) {
    llvm::SmallSetVector<Value, 8> operands(llvm::from_range, reader->getOperands());
    for (Value operand : operands) {
      if (!isa_and_present<SweepOp, MultiplyOp, CallOp>(operand.getDefiningOp()) ||
          !isa<StreamType>(operand.getType()) || !isMatrix(operand))
        continue;
      if (llvm::none_of(operand.getUsers(),
                        [&](Operation *user) { return reader->isBeforeInBlock(user); }))
        unusedOfType[operand.getType()].insert(interface.streamIndex.lookup(operand));
    }
  }

  PlanInterface &interface;
  unsigned count;
  /// The lowest is taken first, so that each iteration of a loop uses the same ones in the same
  /// way.
  llvm::DenseMap<Type, std::set<unsigned>> unusedOfType;
};

} // namespace

FailureOr<PlanInterface> PlanInterface::of(PlanOp plan) {
  PlanInterface result;
  result.plan = plan;
  result.compute = plan.getCompute();
  Block &body = plan.getBody().front();
  Value skip;
  for (auto commit : body.getOps<CommitOp>()) {
    skip = commit.getSkip();
    for (auto [value, scalar] : llvm::zip_equal(commit.getScalars(), body.getOps<ScalarOp>()))
      result.nextScalars.insert({value, scalar});
  }
  for (auto probe : body.getOps<ProbeOp>())
    insertNext(result.probeIndex, probe.getValue());
  // The initial values of the other plan's states use its hyperparameters, which are the same.
  if (PlanOp matrix = matrixPlanOf(plan))
    for (auto [index, hyper] : llvm::enumerate(matrix.getBody().getOps<HyperOp>()))
      result.hyperIndex.insert({hyper.getResult(), index});
  unsigned hyperCount = 0;
  addStreams(result, body);
  TemporaryNumbers temporaries(result);
  for (Operation &op : body) {
    LogicalResult added =
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](HyperOp hyper) {
              result.hyperIndex.insert({hyper.getResult(), hyperCount++});
              return success();
            })
            .Case([&](ScalarOp scalar) {
              insertNext(result.scalarIndex, scalar.getResult());
              return success();
            })
            .Case([&](PrologueOp prologue) { return addRow(result, prologue, skip); })
            .Case([&](SweepOp sweep) {
              temporaries.add(sweep);
              return success();
            })
            .Case<MultiplyOp, CallOp>([&](Operation *operation) {
              temporaries.addWhole(operation);
              return success();
            })
            .Default([](Operation *) { return success(); });
    if (failed(added))
      return failure();
  }
  result.temporaryEnd = temporaries.end();
  return result;
}

} // namespace updraft
