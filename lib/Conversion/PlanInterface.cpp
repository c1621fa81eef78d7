//===- PlanInterface.cpp - Positions of a plan's values ---------------------------------------===//
// All values are numbered in the order in which the plan declares them.

#include "updraft/Conversion/PlanInterface.h"

#include "updraft/Conversion/StateList.h"
#include "llvm/ADT/TypeSwitch.h"

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

// Temporaries become streams after those of the plan; other reductions are numbers. Which matrices
// have the same memory depends on the tensor: runtime/base/MatrixLayout.h.
static void addResults(PlanInterface &interface, Operation &operation) {
  for (Value result : operation.getResults())
    if (isa<StreamType>(result.getType()))
      interface.streamIndex.insert({result, interface.streamCount()});
    else
      insertNext(interface.reducedIndex, result);
}

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
            .Case<SweepOp, MultiplyOp, CallOp>([&](Operation *operation) {
              addResults(result, *operation);
              return success();
            })
            .Default([](Operation *) { return success(); });
    if (failed(added))
      return failure();
  }
  return result;
}

} // namespace updraft
