//===- Extent.cpp - What the values of a rule are spread over ---------------------------------===//

#include "Updraft/IR/Extent.h"

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace updraft;

ExtentAnalysis::ExtentAnalysis(RuleOp rule) {
  for (Operation &operation : rule.getBody().front()) {
    Extent extent =
        TypeSwitch<Operation *, Extent>(&operation)
            .Case<HyperOp>([](auto) { return Extent::group; })
            .Case<StepOp, FirstOp>([](auto) { return Extent::tensor; })
            .Case<ParamOp, GradOp, RandomOp>([](auto) { return Extent::element; })
            .Case<StateOp, ReduceOp>([](auto op) { return op.getOver(); })
            // A tensor has as many columns in each of its rows.
            .Case<SizeOp>([](SizeOp size) {
              return isWithin(size.getOver(), Extent::group) ? Extent::group : Extent::tensor;
            })
            .Default([&](Operation *other) {
              Extent largest = Extent::model;
              for (Value operand : other->getOperands())
                largest = join(largest, of(operand));
              return largest;
            });
    extents[&operation] = extent;
  }
}

Extent ExtentAnalysis::of(Value value) const { return of(value.getDefiningOp()); }

Extent ExtentAnalysis::of(Operation *operation) const {
  auto found = extents.find(operation);
  // A value from elsewhere, which only unverified IR has, could be anything.
  return found == extents.end() ? Extent::element : found->second;
}
