//===- OpNames.cpp - Names of values in printed IR --------------------------------------------===//
// Dumps read like the source: %lr, %param, %exp_avg, even if no location carries a name.

#include "Updraft/IR/UpdraftOps.h"

using namespace mlir;
using namespace updraft;

namespace {

/// Names arguments as the values that are passed.
void nameArguments(Block::BlockArgListType arguments, ValueRange values,
                   OpAsmSetValueNameFn setName) {
  for (auto [argument, value] : llvm::zip(arguments, values))
    if (auto op = value.getDefiningOp<OpAsmOpInterface>())
      op.getAsmResultNames([&, argument = argument, value = value](Value result, StringRef name) {
        if (result == value)
          setName(argument, name);
      });
}

} // namespace

void HyperOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void StepOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "step"); }
void FirstOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "first"); }

StringRef ParamOp::getTensorName() { return "param"; }
StringRef GradOp::getTensorName() { return "grad"; }
StringRef StateOp::getTensorName() { return getName(); }

void ParamOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getTensorName());
}
void GradOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getTensorName());
}
void StateOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getTensorName());
}
void SizeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), ("size_over_" + stringifyExtent(getOver())).str());
}
void ScalarOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void StreamOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }

void InitialOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region.getArguments(), getInputs(), setName);
}
void ValidateOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region.getArguments(), getInputs(), setName);
}
void PrologueOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region.getArguments(), getInputs(), setName);
}
void SweepOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  SmallVector<Value> values(getScalars());
  llvm::append_range(values, getReads());
  nameArguments(region.getArguments(), values, setName);
}
