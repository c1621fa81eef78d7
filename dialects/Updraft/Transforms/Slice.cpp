//===- Slice.cpp - The operations that some values need ---------------------------------------===//

#include "Updraft/Transforms/Slice.h"

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace updraft;

Slice Slice::compute(ValueRange roots, function_ref<bool(Value)> isInput) {
  SetVector<Value> inputs;
  SetVector<Operation *> operations;
  SmallVector<Value> worklist(roots);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (isInput(value))
      inputs.insert(value);
    else if (operations.insert(value.getDefiningOp()))
      llvm::append_range(worklist, value.getDefiningOp()->getOperands());
  }

  Slice slice{inputs.takeVector(), operations.takeVector()};
  llvm::sort(slice.inputs, [](Value left, Value right) {
    Operation *first = left.getDefiningOp(), *second = right.getDefiningOp();
    if (first == second)
      return cast<OpResult>(left).getResultNumber() < cast<OpResult>(right).getResultNumber();
    return first->isBeforeInBlock(second);
  });
  llvm::sort(slice.operations,
             [](Operation *left, Operation *right) { return left->isBeforeInBlock(right); });
  return slice;
}

void Slice::cloneInto(OpBuilder &builder, IRMapping &map) const {
  for (Operation *operation : operations)
    if (auto broadcast = dyn_cast<BroadcastOp>(operation)) // a sweep runs at each place
      map.map(broadcast.getResult(), map.lookup(broadcast.getInput()));
    else
      builder.clone(*operation, map);
}

SmallVector<Value> updraft::lookupAll(const IRMapping &map, ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return map.lookup(value); });
}

Block *updraft::createEntryBlock(OpBuilder &builder, Region &region, ValueRange values,
                                 IRMapping &map) {
  Block *block = builder.createBlock(&region);
  for (Value value : values)
    map.map(value, block->addArgument(value.getType(), value.getLoc()));
  return block;
}
