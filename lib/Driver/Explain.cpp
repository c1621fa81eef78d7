//===- Explain.cpp - The cost of a step -------------------------------------------------------===//
// Counts what the plan says, per element of a parameter; nothing here is measured.

#include "Explain.h"

#include "Formula.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace updraft;

namespace {
unsigned bytesOf(Value stream) {
  return cast<StreamType>(stream.getType()).getStorage().getIntOrFloatBitWidth() / 8;
}

std::string typeName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// An fma counts as two, comparisons and selections as none.
unsigned flopsOf(Operation &op) {
  if (isa<math::FmaOp>(op))
    return 2;
  if (op.getDialect()->getNamespace() == math::MathDialect::getDialectNamespace())
    return 1;
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op);
}

void listStreams(llvm::StringRef what, ValueRange streams, llvm::raw_ostream &os) {
  unsigned bytes = 0;
  std::string list;
  for (Value stream : streams) {
    bytes += bytesOf(stream);
    auto op = stream.getDefiningOp<StreamOp>();
    list +=
        (list.empty() ? "" : ", ") + op.getName().str() + " " + typeName(op.getType().getStorage());
  }
  os << llvm::formatv("  {0,-7} {1,3} B/element  {2}\n", what, bytes, list);
}

unsigned totalBytes(ValueRange streams) {
  unsigned bytes = 0;
  for (Value stream : streams)
    bytes += bytesOf(stream);
  return bytes;
}

void explainPass(PassOp pass, unsigned index, llvm::raw_ostream &os) {
  unsigned flops = 0, divisions = 0, roots = 0;
  for (Operation &op : pass.getBody().front()) {
    flops += flopsOf(op);
    divisions += isa<arith::DivFOp>(op);
    roots += isa<math::SqrtOp>(op);
  }
  os << "pass " << index << " over every element\n";
  listStreams("reads", pass.getReads(), os);
  listStreams("writes", pass.getWrites(), os);
  os << llvm::formatv("  {0,-7} {1,3} flop/element ({2} division{3}, {4} square root{5})\n", "does",
                      flops, divisions, divisions == 1 ? "" : "s", roots, roots == 1 ? "" : "s");
}

/// The scalars that the prologue computes, as formulas over its inputs.
void explainPrologue(PrologueOp prologue, llvm::raw_ostream &os) {
  Operation *yield = prologue.getBody().front().getTerminator();
  unsigned flops = 0;
  for (Operation &op : prologue.getBody().front())
    flops += flopsOf(op);
  os << llvm::formatv("prologue, once per group and step, in f64: {0} flops\n", flops);
  llvm::SetVector<Value> named;
  for (Value value : yield->getOperands())
    os << llvm::formatv("  hoisted {0} = {1}\n", typeName(value.getType()),
                        formulaOf(value, named));
  // Grows while it is walked: a formula may mention further names.
  for (size_t i = 0; i < named.size(); ++i)
    os << llvm::formatv("  where {0} = {1}\n",
                        cast<NameLoc>(named[i].getLoc()).getName().getValue(),
                        formulaOf(named[i], named));
}
} // namespace

void updraft::explainPlan(PlanOp plan, llvm::raw_ostream &os) {
  SmallVector<PassOp> passes(plan.getBody().front().getOps<PassOp>());
  unsigned bytes = 0;
  for (PassOp pass : passes)
    bytes += totalBytes(pass.getReads()) + totalBytes(pass.getWrites());
  os << llvm::formatv("{0}: {1} pass{2} over data, {3} bytes moved per element, computed in {4}\n",
                      plan.getSymName(), passes.size(), passes.size() == 1 ? "" : "es", bytes,
                      typeName(plan.getCompute()));
  for (auto [index, pass] : llvm::enumerate(passes))
    explainPass(pass, index, os);
  for (auto prologue : plan.getBody().front().getOps<PrologueOp>())
    explainPrologue(prologue, os);
  os << "temporaries of a parameter's size: none\n";
  if (passes.size() == 1)
    os << "not fused: nothing; every operation on elements is in the one pass\n";
}
