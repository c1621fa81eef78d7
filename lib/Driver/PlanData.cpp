//===- PlanData.cpp - A plan as JSON ----------------------------------------------------------===//

#include "updraft/Driver/PlanData.h"

#include "Formula.h"
#include "PlanFacts.h"
#include "TypeName.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace updraft;
using llvm::json::Array;
using llvm::json::Object;

namespace {
/// Numbers the values between stages, which have no names.
class PlanPrinter {
public:
  PlanPrinter(PlanOp plan, bool isForGPU) : plan(plan), isForGPU(isForGPU) {}

  Object print() {
    Array stages;
    for (Operation &op : plan.getBody().front())
      if (auto prologue = dyn_cast<PrologueOp>(op))
        stages.push_back(print(prologue));
      else if (auto sweep = dyn_cast<SweepOp>(op))
        stages.push_back(print(sweep));
      else if (auto product = dyn_cast<MultiplyOp>(op))
        stages.push_back(print(product));
      else if (auto call = dyn_cast<CallOp>(op))
        stages.push_back(print(call));
    Array states;
    for (auto stream : plan.getBody().getOps<StreamOp>())
      states.push_back(describeStream(stream));
    unsigned flops = 0;
    for (auto sweep : plan.getBody().getOps<SweepOp>())
      if (sweep.getOver() == Extent::element)
        flops += workOf(sweep.getBody().front()).flops;
    return Object{{"name", plan.getSymName()},
                  {"tensors", plan.getMatrix() ? "matrix" : "any"},
                  {"shapes", plan.getShapes() ? stringifyMatrixShapes(*plan.getShapes()) : ""},
                  {"compute", typeName(plan.getCompute())},
                  {"bytes", bytesPerElement(plan)},
                  {"flops", flops},
                  {"streams", std::move(states)},
                  {"stages", std::move(stages)},
                  {"notFused", Array(whyNotFused(plan, isForGPU))}};
  }

private:
  std::string idOf(Value stream) {
    if (auto op = stream.getDefiningOp<StreamOp>())
      return op.getName().str();
    auto [entry, isNew] = numbers.try_emplace(stream, numbers.size());
    return "#" + std::to_string(entry->second);
  }

  Object describeStream(Value stream) {
    const Extent over = overOf(stream);
    return Object{{"id", idOf(stream)},
                  {"text", describe(stream)},
                  {"type", typeName(cast<StreamType>(stream.getType()).getStorage())},
                  {"bytes", bytesOf(stream)},
                  {"over", stringifyExtent(over)}};
  }

  Array describeAll(ValueRange streams) {
    Array list;
    for (Value stream : streams)
      list.push_back(describeStream(stream));
    return list;
  }

  static std::string conditionOf(Value condition) {
    const std::string text = describeCondition(condition);
    llvm::StringRef rest = text;
    rest.consume_front(", ");
    return rest.str();
  }

  Object print(PrologueOp prologue) {
    Array scalars;
    llvm::SetVector<Value> named;
    Operation *yield = prologue.getBody().front().getTerminator();
    for (Value value : yield->getOperands()) {
      auto name = dyn_cast<NameLoc>(value.getLoc());
      scalars.push_back(Object{{"name", name ? name.getName().getValue() : ""},
                               {"type", typeName(value.getType())},
                               {"formula", formulaOf(value, named)}});
    }
    Array where;
    for (size_t i = 0; i < named.size(); ++i) // the list grows during the loop
      where.push_back(Object{{"name", cast<NameLoc>(named[i].getLoc()).getName().getValue()},
                             {"formula", formulaOf(named[i], named)}});
    return Object{{"kind", "prologue"},
                  {"perTensor", prologue.isPerTensor()},
                  {"flops", workOf(prologue.getBody().front()).flops},
                  {"scalars", std::move(scalars)},
                  {"where", std::move(where)}};
  }

  Object print(SweepOp sweep) {
    Array reduces;
    auto results = sweep.getResults();
    for (auto [index, reduction] : llvm::enumerate(sweep.getReductionRange()))
      reduces.push_back(
          Object{{"text", describe(reduction)},
                 {"id", isa<StreamType>(results[index].getType()) ? idOf(results[index]) : ""}});
    const Work work = workOf(sweep.getBody().front());
    return Object{{"kind", "sweep"},
                  {"number", sweeps++},
                  {"over", stringifyExtent(sweep.getOver())},
                  {"reads", describeAll(sweep.getReads())},
                  {"writes", describeAll(sweep.getWrites())},
                  {"makes", describeAll(sweep.getTemporaries())},
                  {"reduces", std::move(reduces)},
                  {"flops", work.flops},
                  {"divisions", work.divisions},
                  {"roots", work.roots},
                  {"when", conditionOf(sweep.getCondition())}};
  }

  Object print(MultiplyOp product) {
    auto [rows, columns] = sidesOf(overOf(product.getResult()));
    llvm::StringRef depth = sidesOf(product.getLhs(), product.getLhsTransposed()).along;
    auto factor = [&](Value matrix, bool isTransposed) {
      auto [down, along] = sidesOf(matrix, isTransposed);
      Object object = describeStream(matrix);
      object["rows"] = down;
      object["columns"] = along;
      object["transposed"] = isTransposed;
      return object;
    };
    const std::string multiplied = (rows + " * " + columns + " * " + depth).str();
    const std::optional<OperandFormat> format = product.getOperandFormat();
    Array addends;
    if (product.getAddend())
      addends.push_back(describeStream(product.getAddend()));
    Array writes;
    if (product.getTarget())
      writes.push_back(describeStream(product.getTarget()));
    return Object{{"kind", "product"},
                  {"number", products++},
                  {"left", factor(product.getLhs(), product.getLhsTransposed())},
                  {"right", factor(product.getRhs(), product.getRhsTransposed())},
                  {"addends", std::move(addends)},
                  {"sum", describeSum(product)},
                  {"writes", std::move(writes)},
                  {"update", describeUpdate(product)},
                  {"makes", Array{describeStream(product.getResult())}},
                  {"rows", rows},
                  {"columns", columns},
                  {"flops", (product.getSymmetric() ? "" : "2 * ") + multiplied},
                  {"saved", product.getSymmetric() ? multiplied : ""},
                  {"rounded", format ? stringifyOperandFormat(*format) : ""},
                  {"when", conditionOf(product.getCondition())}};
  }

  Object print(CallOp call) {
    const Extent over = overOf(call.getResult());
    std::string made = stringifyExtent(over).str();
    if (isMatrixExtent(over))
      made = (sidesOf(over).down + " x " + sidesOf(over).along).str();
    return Object{{"kind", "call"},
                  {"number", calls++},
                  {"function", stringifyMatrixFunction(call.getFunction())},
                  {"reads", describeAll(call.getInputs())},
                  {"makes", Array{describeStream(call.getResult())}},
                  {"shape", made},
                  {"onHost", call.isOfHost()},
                  {"when", conditionOf(call.getCondition())}};
  }

  PlanOp plan;
  bool isForGPU;
  llvm::DenseMap<Value, size_t> numbers;
  unsigned sweeps = 0, products = 0, calls = 0;
};
} // namespace

Object updraft::planData(PlanOp plan, bool isForGPU) { return PlanPrinter(plan, isForGPU).print(); }
