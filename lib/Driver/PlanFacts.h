//===- PlanFacts.h - The cost of a plan, in numbers and words -----------------------*- C++ -*-===//
// `--explain` prints these facts and a report shows them. Nothing is measured.

#ifndef UPDRAFT_LIB_DRIVER_PLANFACTS_H
#define UPDRAFT_LIB_DRIVER_PLANFACTS_H

#include "Updraft/IR/UpdraftOps.h"

#include <string>
#include <vector>

namespace updraft {

/// The bytes of a value of a stream.
double bytesOf(mlir::Value stream);
/// Formats as "16"; with two decimals if scales of blocks add a fraction.
std::string bytesText(double bytes);

Extent overOf(mlir::Value stream);
/// Streams over rows and columns are small compared with those of elements, and are not counted.
double bytesPerElement(mlir::ValueRange streams);
/// The bytes per element that a plan's sweeps read and write.
double bytesPerElement(PlanOp plan);

/// The operations of one execution of a block.
struct Work {
  unsigned flops = 0; ///< an fma counts as two, comparisons and selections as none
  unsigned divisions = 0, roots = 0;
};
Work workOf(mlir::Block &body);

std::string describe(ReductionAttr reduction);
/// Returns "exp_avg f32", or for the result of a sweep "sum over row f64".
std::string describe(mlir::Value stream);
/// Returns ", in steps where FLAG", or nothing for a stage of every step.
std::string describeCondition(mlir::Value condition);

struct Sides {
  llvm::StringRef down, along; ///< each "rows" or "columns" of the parameter, or "chosen" ones
};
Sides sidesOf(Extent matrix);
/// The sides of a factor of a product.
Sides sidesOf(mlir::Value factor, bool isTransposed);

/// The unit of a sweep: "row", or "element" for matrices.
llvm::StringRef unitOf(Extent over);
/// The same, with the shape of matrices that aren't the parameter's: "element of rows x rows".
std::string describe(Extent over);

/// Returns the reasons for several sweeps: the reductions and matrices that each waits for.
/// For a CPU, also of sweeps that a product could compute if it weren't for what they do.
std::vector<std::string> whyNotFused(PlanOp plan, bool isForGPU);

/// Returns the formula of a scalar that a prologue computes, in parentheses if a factor needs them.
std::string formulaOfScalar(mlir::Value scalar, bool isFactor = false);
/// Returns "matrix f32 times 3.4445 to 2.0315 times the product", or "" without an addend.
std::string describeSum(MultiplyOp product);
/// Returns what a product does to its target, as text, or "" if it has none.
std::string describeUpdate(MultiplyOp product);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_PLANFACTS_H
