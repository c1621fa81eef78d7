//===- ExactAlgebra.td - Identities that hold bit for bit ----------------------*- tablegen -*-===//
// Rewrites of floating-point arithmetic that give the same bits for every operand under IEEE 754
// with rounding to nearest even, except for the sign and payload of NaNs, which no operation here
// promises. Upstream's folders add more: x * 1, x / 1, x - (+0), x + (-0), -(-x), a select with a
// constant condition or equal arms.
//
// Left out because they only look like identities: x + 0 (-0 + 0 is +0), x * 0 (NaN, infinity,
// sign), x - x (NaN, infinity), (a + b) - b, x / c as x * (1 / c) in general, (a * b) * c
// regrouped, a * b + c as fma, and truncf(sitofp(x)) as sitofp(x), which rounds once instead of
// twice.

#ifndef UPDRAFT_TRANSFORMS_EXACTALGEBRA_TD
#define UPDRAFT_TRANSFORMS_EXACTALGEBRA_TD

include "mlir/Dialect/Arith/IR/ArithOps.td"
include "mlir/Dialect/Math/IR/MathOps.td"
include "mlir/IR/PatternBase.td"

def IsMinusOne : Constraint<CPred<"isMinusOne($0)">, "-1.0">;
def HasExactInverse : Constraint<CPred<"hasExactInverse($0)">, "a power of two with an inverse">;
def IsFloat : Constraint<CPred<"::llvm::isa<::mlir::FloatAttr>($0)">, "a scalar constant">;
def IsDefaultRounding : Constraint<CPred<"$0 == nullptr">, "to nearest even">;
def ExactInverse : NativeCodeCall<"exactInverse($0)">;
def Negated : NativeCodeCall<"negated($0)">;
def RoundedTo : NativeCodeCall<"roundedTo($0.getType(), $1)">;

// x * -1 = -x, x / -1 = -x
def MulMinusOne : Pat<(Arith_MulFOp $x, (ConstantLikeMatcher AnyAttr:$c), $flags),
                      (Arith_NegFOp $x, $flags), [(IsMinusOne $c)]>;
def DivMinusOne : Pat<(Arith_DivFOp $x, (ConstantLikeMatcher AnyAttr:$c), $flags),
                      (Arith_NegFOp $x, $flags), [(IsMinusOne $c)]>;

// x / 2^k = x * 2^-k: both round the same real number.
def DivPowerOfTwo : Pat<(Arith_DivFOp $x, (ConstantLikeMatcher AnyAttr:$c), $flags),
                        (Arith_MulFOp $x, (Arith_ConstantOp (ExactInverse $c)), $flags),
                        [(HasExactInverse $c)]>;

// (-x) * c = x * -c, (-x) / c = x / -c
def MulNegByConstant : Pat<(Arith_MulFOp (Arith_NegFOp $x, $_),
                                         (ConstantLikeMatcher AnyAttr:$c), $flags),
                           (Arith_MulFOp $x, (Arith_ConstantOp (Negated $c)), $flags),
                           [(IsFloat $c)]>;
def DivNegByConstant : Pat<(Arith_DivFOp (Arith_NegFOp $x, $_),
                                         (ConstantLikeMatcher AnyAttr:$c), $flags),
                           (Arith_DivFOp $x, (Arith_ConstantOp (Negated $c)), $flags),
                           [(IsFloat $c)]>;

// x + (-y) = x - y, (-x) + y = y - x, x - (-y) = x + y
def AddNegRight : Pat<(Arith_AddFOp $x, (Arith_NegFOp $y, $_), $flags),
                      (Arith_SubFOp $x, $y, $flags)>;
def AddNegLeft : Pat<(Arith_AddFOp (Arith_NegFOp $x, $_), $y, $flags),
                     (Arith_SubFOp $y, $x, $flags)>;
def SubNeg : Pat<(Arith_SubFOp $x, (Arith_NegFOp $y, $_), $flags),
                 (Arith_AddFOp $x, $y, $flags)>;

// min(x, x) = x, max(x, x) = x, also if x is NaN
def MinimumSame : Pat<(Arith_MinimumFOp $x, $x, $_), (replaceWithValue $x)>;
def MaximumSame : Pat<(Arith_MaximumFOp $x, $x, $_), (replaceWithValue $x)>;

// |-x| = |x|, ||x|| = |x|
def AbsNeg : Pat<(Math_AbsFOp (Arith_NegFOp $x, $_), $flags), (Math_AbsFOp $x, $flags)>;
def AbsAbs : Pat<(Math_AbsFOp (Math_AbsFOp:$abs $x, $_), $_), (replaceWithValue $abs)>;

// Rounds a constant to another precision. Upstream folds only exact conversions.
def TruncConstant : Pat<(Arith_TruncFOp:$result (ConstantLikeMatcher AnyAttr:$c), $rounding, $_),
                        (Arith_ConstantOp (RoundedTo $result, $c)),
                        [(IsFloat $c), (IsDefaultRounding $rounding)]>;

#endif // UPDRAFT_TRANSFORMS_EXACTALGEBRA_TD
