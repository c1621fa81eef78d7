//===- Extent.cpp - What the values of a rule are spread over ---------------------------------===//

#include "Updraft/IR/Extent.h"

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace updraft;

Extent updraft::join(Extent left, Extent right) {
  return static_cast<Extent>(static_cast<uint8_t>(left) | static_cast<uint8_t>(right));
}

bool updraft::isWithin(Extent inner, Extent outer) { return join(inner, outer) == outer; }

StringRef updraft::stringify(Extent extent) {
  switch (extent) {
  case Extent::model:
    return "model";
  case Extent::group:
    return "group";
  case Extent::tensor:
    return "tensor";
  case Extent::row:
    return "row";
  case Extent::column:
    return "column";
  case Extent::element:
    return "element";
  }
  return "unknown";
}

ExtentAnalysis::ExtentAnalysis(RuleOp rule) {
  for (Operation &operation : rule.getBody().front()) {
    Extent extent = TypeSwitch<Operation *, Extent>(&operation)
                        .Case<HyperOp>([](auto) { return Extent::group; })
                        .Case<StepOp, FirstOp>([](auto) { return Extent::tensor; })
                        .Case<ParamOp, GradOp, StateOp>([](auto) { return Extent::element; })
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
