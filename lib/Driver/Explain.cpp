//===- Explain.cpp - The cost of a step -------------------------------------------------------===//
// Counts the plan's operations and bytes per element of a parameter. Nothing is measured.

#include "Explain.h"

#include "Formula.h"
#include "PlanFacts.h"
#include "RuleDescription.h"
#include "TypeName.h"
#include "runtime/base/MatrixLayout.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace updraft;

namespace {
void listStreams(llvm::StringRef what, ValueRange streams, Extent over, llvm::raw_ostream &os) {
  double bytes = 0;
  std::string list;
  for (Value stream : streams) {
    if (overOf(stream) == over)
      bytes += bytesOf(stream);
    list += (list.empty() ? "" : ", ") + describe(stream);
  }
  os << llvm::formatv("  {0,-7} {1,3} B/{2}  {3}\n", what, bytesText(bytes), unitOf(over), list);
}

void explainSweep(SweepOp sweep, unsigned index, llvm::raw_ostream &os) {
  const auto [flops, divisions, roots] = workOf(sweep.getBody().front());
  os << "sweep " << index << " over every " << describe(sweep.getOver())
     << describeCondition(sweep.getCondition()) << "\n";
  listStreams("reads", sweep.getReads(), sweep.getOver(), os);
  if (!sweep.getWrites().empty())
    listStreams("writes", sweep.getWrites(), sweep.getOver(), os);
  if (!sweep.getTemporaries().empty())
    listStreams("makes", sweep.getTemporaries(), sweep.getOver(), os);
  if (!sweep.getReductions().empty()) {
    std::string list;
    for (ReductionAttr reduction : sweep.getReductionRange())
      list += (list.empty() ? "" : ", ") + describe(reduction);
    os << llvm::formatv("  {0,-7} {1}\n", "reduces", list);
  }
  os << llvm::formatv("  {0,-7} {1,3} flop/{2} ({3} division{4}, {5} square root{6})\n", "does",
                      flops, unitOf(sweep.getOver()), divisions, divisions == 1 ? "" : "s", roots,
                      roots == 1 ? "" : "s");
}

void explainProduct(MultiplyOp product, unsigned index, llvm::raw_ostream &os) {
  auto [rows, columns] = sidesOf(overOf(product.getResult()));
  llvm::StringRef depth = sidesOf(product.getLhs(), product.getLhsTransposed()).along;
  auto factor = [](Value matrix, bool isTransposed) {
    auto [down, along] = sidesOf(matrix, isTransposed);
    return (down + " x " + along + (isTransposed ? " (transposed)" : "")).str();
  };
  os << llvm::formatv("product {0} of {1} and {2}{3}\n", index,
                      factor(product.getLhs(), product.getLhsTransposed()),
                      factor(product.getRhs(), product.getRhsTransposed()),
                      describeCondition(product.getCondition()));
  if (product.getAddend())
    os << llvm::formatv("  {0,-7} {1}\n", "adds", describeSum(product));
  if (product.getTarget())
    os << llvm::formatv("  {0,-7} {1}\n", "updates", describeUpdate(product));
  os << llvm::formatv("  {0,-7} {1} x {2}  {3}{4}\n", "makes", rows, columns,
                      describe(product.getResult()),
                      product.getTarget() ? ", only while it multiplies" : "");
  os << llvm::formatv("  {0,-7} {1}{2} * {3} * {4} flop{5}\n", "does",
                      product.getSymmetric() ? "" : "2 * ", rows, columns, depth,
                      product.getSymmetric() ? " (half of a general product's: it is symmetric)"
                                             : "");
  if (std::optional<OperandFormat> format = product.getOperandFormat())
    os << llvm::formatv("  operands are rounded to {0} where the target multiplies {0}\n",
                        stringifyOperandFormat(*format));
}

void explainCall(CallOp call, unsigned index, bool isForGPU, llvm::raw_ostream &os) {
  std::string operands;
  for (Value operand : call.getInputs())
    operands += (operands.empty() ? "" : ", ") + describe(operand);
  os << llvm::formatv("call {0} of {1}({2}){3}\n", index,
                      stringifyMatrixFunction(call.getFunction()), operands,
                      describeCondition(call.getCondition()));
  if (isForGPU && call.isOfHost())
    os << "  runs on the host, which waits for the GPU and copies the operands and the result\n";
  const Extent over = overOf(call.getResult());
  std::string made = stringifyExtent(over).str();
  if (isMatrixExtent(over))
    made = (sidesOf(over).down + " x " + sidesOf(over).along).str();
  os << llvm::formatv("  {0,-7} {1}  {2}\n", "makes", made, describe(call.getResult()));
}

/// Prints the memory for the matrices between the stages of a plan.
void explainMatrices(PlanOp plan, llvm::raw_ostream &os) {
  const FailureOr<runtime::PlanInterface> described = describePlan(plan);
  if (failed(described))
    return; // the error is reported
  const runtime::MatrixLayout layout(*described);
  if (layout.streams().empty()) {
    os << "temporaries of a parameter's size: none\n";
    return;
  }
  const unsigned width = plan.getCompute().getIntOrFloatBitWidth() / 8;
  os << "matrices between the stages, for each parameter that is being stepped:\n";
  for (const auto &[rows, columns] : {std::pair{768, 768}, {768, 3072}, {3072, 768}}) {
    if (!described->isFor(runtime::TensorClass::Matrix, rows, columns))
      continue;
    runtime::TensorShape shape{1, rows, columns};
    shape.chosen = described->chosenOf(rows, columns);
    const auto bytes = static_cast<double>(layout.place(shape).bytes);
    os << llvm::formatv("  of {0} x {1}: {2:F1} MiB, {3:F2} times the parameter in {4}\n", rows,
                        columns, bytes / (1 << 20), bytes / (rows * columns * width),
                        typeName(plan.getCompute()));
  }
}

/// Prints the states that aren't among the bytes per element.
void explainSquareStates(PlanOp plan, llvm::raw_ostream &os) {
  for (auto stream : plan.getBody().getOps<StreamOp>())
    if (isSquareExtent(stream.getType().getOver())) {
      auto [down, along] = sidesOf(stream.getType().getOver());
      os << llvm::formatv("state {0}: {1} x {2} of {3}, for each matrix of a parameter\n",
                          stream.getName(), down, along, typeName(stream.getType().getStorage()));
    }
}

void explainTemporaries(PlanOp plan, ArrayRef<SweepOp> sweeps, llvm::raw_ostream &os) {
  explainMatrices(plan, os);
  for (SweepOp sweep : sweeps)
    for (Value result : sweep.getResults())
      if (isa<StreamType>(result.getType()) && !isMatrixExtent(overOf(result)))
        os << llvm::formatv("temporary: {0} B/{1}  {2}\n", bytesText(bytesOf(result)),
                            stringifyExtent(overOf(result)), describe(result));
}

/// Names the purpose of a scalar that a prologue computes.
std::string purposeOf(Value result) {
  for (Operation *user : result.getUsers())
    if (auto probe = dyn_cast<ProbeOp>(user)) {
      std::string purpose = ("probe " + probe.getName()).str();
      if (const std::optional<llvm::APFloat> end = probe.getEnd())
        purpose += llvm::formatv(" end {0}", end->convertToDouble()).str();
      return purpose;
    }
  return "hoisted " + typeName(result.getType());
}

/// Prints the scalars that the prologue computes, as formulas over its inputs.
void explainPrologue(PrologueOp prologue, llvm::raw_ostream &os) {
  Operation *yield = prologue.getBody().front().getTerminator();
  const unsigned flops = workOf(prologue.getBody().front()).flops;
  bool waits = llvm::any_of(prologue.getInputs(),
                            [](Value input) { return input.getDefiningOp<SweepOp>() != nullptr; });
  os << llvm::formatv("{0}, once per group and step{1}, in f64: {2} flops\n",
                      waits ? "prologue of what follows reductions" : "prologue",
                      prologue.isPerTensor() ? " and parameter" : "", flops);
  llvm::SetVector<Value> named;
  for (auto [value, result] : llvm::zip_equal(yield->getOperands(), prologue->getResults()))
    os << llvm::formatv("  {0} = {1}\n", purposeOf(result), formulaOf(value, named));
  // The list grows during the loop, because a formula may mention further names.
  for (size_t i = 0; i < named.size(); ++i)
    os << llvm::formatv("  where {0} = {1}\n",
                        cast<NameLoc>(named[i].getLoc()).getName().getValue(),
                        formulaOf(named[i], named));
}
} // namespace

void updraft::explainPlan(PlanOp plan, llvm::StringRef numerics, llvm::StringRef gpu,
                          llvm::raw_ostream &os) {
  SmallVector<SweepOp> sweeps(plan.getBody().front().getOps<SweepOp>());
  const std::string mode = numerics == "ieee" ? "" : (", numerics " + numerics).str();
  os << llvm::formatv(
      "{0}: {1} sweep{2} over data, {3} bytes moved per element, computed in {4}{5}{6}{7}\n",
      plan.getSymName(), sweeps.size(), sweeps.size() == 1 ? "" : "s",
      bytesText(bytesPerElement(plan)), typeName(plan.getCompute()), mode,
      gpu.empty() ? "" : ", for ", gpu);
  unsigned sweepIndex = 0, productIndex = 0, callIndex = 0;
  for (Operation &op : plan.getBody().front())
    if (auto sweep = dyn_cast<SweepOp>(op))
      explainSweep(sweep, sweepIndex++, os);
    else if (auto product = dyn_cast<MultiplyOp>(op))
      explainProduct(product, productIndex++, os);
    else if (auto call = dyn_cast<CallOp>(op))
      explainCall(call, callIndex++, !gpu.empty(), os);
  for (auto prologue : plan.getBody().front().getOps<PrologueOp>())
    if (prologue.getNumResults() != 0 || plan.getBody().front().getOps<SweepOp>().empty())
      explainPrologue(prologue, os);
  explainSquareStates(plan, os);
  explainTemporaries(plan, sweeps, os);
  for (const std::string &reason : whyNotFused(plan, !gpu.empty()))
    os << "not fused: " << reason << "\n";
}
