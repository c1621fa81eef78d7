//===- Approximations.td - Approximate quotients and roots ---------------------*- tablegen -*-===//
// Replaces f32 quotients and roots of elements by PTX instructions that don't round to nearest
// (docs/numerics.md states the errors). The flag `afn` only marks these operations.

#ifndef UPDRAFT_CONVERSION_GPU_APPROXIMATIONS_TD
#define UPDRAFT_CONVERSION_GPU_APPROXIMATIONS_TD

include "mlir/Dialect/Arith/IR/ArithOps.td"
include "mlir/Dialect/Math/IR/MathOps.td"
include "mlir/IR/PatternBase.td"

def IsUsedOnce : Constraint<CPred<"$0.hasOneUse()">, "used nowhere else">;
def Exact : ConstantAttr<Arith_FastMathAttr, "::mlir::arith::FastMathFlags::none">;
def Approximate : ConstantAttr<Arith_FastMathAttr, "::mlir::arith::FastMathFlags::afn">;

// x / sqrt(y) = x * rsqrt(y)
def QuotientByRoot : Pat<(Arith_DivFOp $x, (Math_SqrtOp:$root F32:$y, $_), $_),
                         (Arith_MulFOp $x, (Math_RsqrtOp $y, Approximate), Exact),
                         [(IsUsedOnce $root)]>;

def Quotient : Pat<(Arith_DivFOp F32:$x, $y, Exact), (Arith_DivFOp $x, $y, Approximate)>;
def Root : Pat<(Math_SqrtOp F32:$x, Exact), (Math_SqrtOp $x, Approximate)>;

#endif // UPDRAFT_CONVERSION_GPU_APPROXIMATIONS_TD
