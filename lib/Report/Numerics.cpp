//===- Numerics.cpp - Roundings, errors and hoisted scalars of a rule -------------------------===//
// The reference interpreter computes the values of hoisted scalars: a prologue is run as a rule
// whose states are its results.

#include "Numerics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "updraft/Reference/Interpreter.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;
using namespace updraft;
using llvm::json::Array;
using llvm::json::Object;

namespace {
struct Stored {
  llvm::StringRef name, rounding, bound;
};

Stored describeStorage(Type storage) {
  if (storage.isF64())
    return {"f64", "to nearest even", "2^-53"};
  if (storage.isF32())
    return {"f32", "to nearest even", "2^-24"};
  if (storage.isBF16())
    return {"bf16", "to nearest even", "2^-8"};
  if (storage.isF16())
    return {"f16", "to nearest even", "2^-11"};
  if (isa<StochasticType>(storage))
    return {"bf16_stochastic", "by chance, right on average", "2^-7"};
  if (isa<CorrectedType>(storage))
    return {"bf16_corrected", "to nearest even of 16 bits", "2^-16"};
  if (auto blocked = dyn_cast<BlockedType>(storage))
    return {blocked.getQuantisation() == Quantisation::linear ? "q8_linear" : "q8_companded",
            "to codes of a block", "half a code"};
  return {"i8", "none", "0"};
}

/// The bounds of elementary functions in units in the last place, of f32 and f64.
std::optional<std::pair<llvm::StringRef, llvm::StringRef>> boundOf(Operation &op) {
  if (isa<math::ExpOp>(op))
    return std::pair("0.80", "0.81");
  if (isa<math::LogOp>(op))
    return std::pair("0.84", "0.87");
  if (isa<math::TanhOp>(op))
    return std::pair("1.04", "1.15");
  if (isa<math::PowFOp>(op))
    return std::pair("0.502", "0.97");
  return std::nullopt;
}

/// Why the interpreter can't compute a value from hyperparameters and the step, or "".
llvm::StringRef reasonFor(Value input) {
  Operation *op = input.getDefiningOp();
  if (isa<HyperOp, StepOp, FirstOp>(op))
    return "";
  if (isa<SizeOp>(op))
    return "depends on the size of the tensor";
  if (isa<ScalarOp>(op))
    return "depends on a state of the tensor or group";
  return "depends on reductions of the gradient";
}

/// The inputs of a value of a prologue, as operands of the prologue.
llvm::SetVector<Value> inputsOf(PrologueOp prologue, Value root) {
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Value> all;
  all.insert(root);
  for (size_t i = 0; i < all.size(); ++i) { // the list grows during the loop
    if (auto argument = dyn_cast<BlockArgument>(all[i]))
      inputs.insert(prologue.getInputs()[argument.getArgNumber()]);
    else
      for (Value operand : all[i].getDefiningOp()->getOperands())
        all.insert(operand);
  }
  return inputs;
}

/// A rule with the body of a prologue, whose states receive the results.
OwningOpRef<ModuleOp> ruleOf(PlanOp plan, PrologueOp prologue) {
  OpBuilder builder(plan.getContext());
  const Location loc = plan.getLoc();
  OwningOpRef<ModuleOp> module(ModuleOp::create(builder, loc));
  builder.setInsertionPointToEnd(module->getBody());
  Type compute = plan.getCompute(), f64 = builder.getF64Type();
  auto rule = RuleOp::create(builder, loc, "scalars", compute, /*matrix=*/false,
                             /*shapes=*/MatrixShapesAttr(), /*chosen=*/FloatAttr(),
                             /*fast=*/false);
  builder.setInsertionPointToEnd(&rule.getBody().emplaceBlock());
  IRMapping map;
  for (Operation &op : plan.getBody().front())
    if (isa<HyperOp, StepOp, FirstOp>(op))
      builder.clone(op, map);
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(value));
  };
  Value zero = number(0), one = number(1);
  Value param = ParamOp::create(builder, loc, compute, TypeAttr::get(compute));
  GradOp::create(builder, loc, compute, TypeAttr::get(compute));
  Block &body = prologue.getBody().front();
  Operation *yield = body.getTerminator();
  for (unsigned i = 0; i < yield->getNumOperands(); ++i)
    StateOp::create(builder, loc, f64, "s" + std::to_string(i), Extent::tensor, f64, zero, false);
  for (auto [inner, outer] : llvm::zip_equal(body.getArguments(), prologue.getInputs()))
    map.map(inner,
            map.contains(outer) ? map.lookup(outer)
            : outer.getType().isInteger(1)
                ? arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false)).getResult()
                : zero);
  for (Operation &op : body.without_terminator())
    builder.clone(op, map);
  SmallVector<Value> results;
  for (Value value : yield->getOperands()) {
    Value result = map.lookup(value);
    if (result.getType().isInteger(1))
      result = arith::SelectOp::create(builder, loc, result, one, zero);
    else if (!result.getType().isF64())
      result = arith::ExtFOp::create(builder, loc, f64, result);
    results.push_back(result);
  }
  NextOp::create(builder, loc, param, results, Value());
  return module;
}

/// Returns the values of all results at the shown steps; empty if the interpreter can't run them.
std::vector<std::vector<double>> valuesOf(PlanOp plan, PrologueOp prologue) {
  OwningOpRef<ModuleOp> module = ruleOf(plan, prologue);
  RuleOp rule = *module->getOps<RuleOp>().begin();
  auto interpreter = reference::Interpreter::create(rule);
  if (!interpreter) {
    llvm::consumeError(interpreter.takeError());
    return {};
  }
  std::vector<std::vector<double>> values;
  for (int step : shownSteps) {
    std::vector<std::array<double, 1>> memory(interpreter->streams().size());
    std::vector<void *> buffers;
    for (auto &buffer : memory)
      buffers.push_back(buffer.data());
    interpreter->step(interpreter->hyperDefaults(), step, step == 1, buffers, 1);
    std::vector<double> &results = values.emplace_back();
    for (size_t i = 2; i < memory.size(); ++i)
      results.push_back(memory[i][0]);
  }
  return values;
}
} // namespace

llvm::json::Value updraft::numberAsJSON(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

Object updraft::roundingsOf(ArrayRef<RuleOp> forms, llvm::StringRef numerics) {
  llvm::MapVector<llvm::StringRef, Stored> streams;
  llvm::MapVector<std::pair<llvm::StringRef, llvm::StringRef>, std::string> functions;
  for (RuleOp rule : forms)
    for (Operation &op : rule.getBody().front()) {
      if (auto input = dyn_cast<TensorInputOpInterface>(op))
        streams.insert({input.getTensorName(), describeStorage(input.getStorage())});
      else if (auto bounds = boundOf(op)) {
        const bool isF32 = op.getResult(0).getType().isF32();
        functions.insert({{op.getName().stripDialect(), isF32 ? "f32" : "f64"},
                          (isF32 ? bounds->first : bounds->second).str() + " ULP"});
      }
    }
  Array roundings, bounds;
  for (auto &[name, stored] : streams)
    roundings.push_back(Object{{"stream", name},
                               {"stored", stored.name},
                               {"rounding", name == "grad" ? "only read" : stored.rounding},
                               {"bound", name == "grad" ? "0" : stored.bound}});
  for (auto &[function, bound] : functions)
    bounds.push_back(
        Object{{"function", function.first}, {"type", function.second}, {"bound", bound}});
  llvm::StringRef mode =
      numerics == "fast"    ? "operations are rewritten to cheaper ones, each within 2.5 ULP"
      : numerics == "torch" ? "combinations of the standard library round like PyTorch's"
                            : "each operation of the rule rounds by itself, to nearest even";
  return Object{{"mode", numerics},
                {"meaning", mode},
                {"streams", std::move(roundings)},
                {"functions", std::move(bounds)}};
}

void updraft::addScalarValues(PlanOp plan, Object &data) {
  auto prologues = llvm::to_vector(plan.getBody().getOps<PrologueOp>());
  auto next = prologues.begin();
  for (llvm::json::Value &stage : *data.getArray("stages")) {
    if (stage.getAsObject()->getString("kind") != "prologue")
      continue;
    PrologueOp prologue = *next++;
    const auto values = valuesOf(plan, prologue);
    Operation *yield = prologue.getBody().front().getTerminator();
    for (auto [index, scalar] : llvm::enumerate(*stage.getAsObject()->getArray("scalars"))) {
      std::string reason = values.empty() ? "the interpreter can't compute it" : "";
      for (Value input : inputsOf(prologue, yield->getOperand(index)))
        if (reason.empty())
          reason = reasonFor(input).str();
      Object &object = *scalar.getAsObject();
      if (!reason.empty()) {
        object["unknown"] = reason;
        continue;
      }
      Array shown;
      for (const std::vector<double> &results : values)
        shown.push_back(numberAsJSON(results[index]));
      object["values"] = std::move(shown);
    }
  }
}
