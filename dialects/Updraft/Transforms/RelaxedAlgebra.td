//===- RelaxedAlgebra.td - Identities of real numbers --------------------------*- tablegen -*-===//
// Rewrites of tensor arithmetic that are exact for real numbers, and have stated errors
// (docs/numerics.md) for floating-point numbers. Scalars are combined in f64, before they are
// rounded to the element type. Values with other uses don't change, because they would be computed
// twice.
//
// Left out: estimates of reciprocals and roots, which differ between processors and gain nothing; x
// / y of tensors as x * (1 / y); regrouped sums, except sums of quotients.

#ifndef UPDRAFT_TRANSFORMS_RELAXEDALGEBRA_TD
#define UPDRAFT_TRANSFORMS_RELAXEDALGEBRA_TD

include "mlir/Dialect/Arith/IR/ArithOps.td"
include "mlir/Dialect/Math/IR/MathOps.td"
include "mlir/IR/PatternBase.td"

def IsScalar : Constraint<CPred<"isScalar($0)">, "the same for all elements of a tensor">;
def IsTensor : Constraint<CPred<"!isScalar($0)">, "different from element to element">;
def IsUsedOnce : Constraint<CPred<"$0.hasOneUse()">, "used nowhere else">;
def InverseOf : NativeCodeCall<"inverseOf($_builder, $_loc, $0)">;
def ProductOf : NativeCodeCall<"productOf($_builder, $_loc, $0, $1)">;

// s * x = x * s, so that the patterns below find the scalar on the right
def ScalarToTheRight : Pat<(Arith_MulFOp $s, $x, $flags),
                           (Arith_MulFOp $x, $s, $flags), [(IsScalar $s), (IsTensor $x)]>;

// x / s = x * (1 / s)
def QuotientByScalar : Pat<(Arith_DivFOp $x, $s, $flags),
                           (Arith_MulFOp $x, (InverseOf $s), $flags),
                           [(IsTensor $x), (IsScalar $s)]>;

// (x * s) * t = x * (s * t)
def ProductByScalars : Pat<(Arith_MulFOp (Arith_MulFOp:$product $x, $s, $_), $t, $flags),
                           (Arith_MulFOp $x, (ProductOf $s, $t), $flags),
                           [(IsTensor $x), (IsScalar $s), (IsScalar $t), (IsUsedOnce $product)]>;

// (s / x) * t = (s * t) / x
def QuotientOfScalar : Pat<(Arith_MulFOp (Arith_DivFOp:$quotient $s, $x, $_), $t, $flags),
                           (Arith_DivFOp (ProductOf $s, $t), $x, $flags),
                           [(IsTensor $x), (IsScalar $s), (IsScalar $t), (IsUsedOnce $quotient)]>;

// (x * s) / y * t = (x * (s * t)) / y
def ScaledQuotient : Pat<
    (Arith_MulFOp (Arith_DivFOp:$quotient (Arith_MulFOp:$product $x, $s, $_), $y, $_), $t, $flags),
    (Arith_DivFOp (Arith_MulFOp $x, (ProductOf $s, $t), $flags), $y, $flags),
    [(IsTensor $x), (IsTensor $y), (IsScalar $s), (IsScalar $t), (IsUsedOnce $product),
     (IsUsedOnce $quotient)]>;

// (x * s) * (t / y) = (x * (s * t)) / y, and the same with the factors exchanged
def ScaledTimesQuotient : Pat<
    (Arith_MulFOp (Arith_MulFOp:$product $x, $s, $_), (Arith_DivFOp:$quotient $t, $y, $_), $flags),
    (Arith_DivFOp (Arith_MulFOp $x, (ProductOf $s, $t), $flags), $y, $flags),
    [(IsTensor $x), (IsTensor $y), (IsScalar $s), (IsScalar $t), (IsUsedOnce $product),
     (IsUsedOnce $quotient)]>;
def QuotientTimesScaled : Pat<
    (Arith_MulFOp (Arith_DivFOp:$quotient $t, $y, $_), (Arith_MulFOp:$product $x, $s, $_), $flags),
    (Arith_DivFOp (Arith_MulFOp $x, (ProductOf $s, $t), $flags), $y, $flags),
    [(IsTensor $x), (IsTensor $y), (IsScalar $s), (IsScalar $t), (IsUsedOnce $product),
     (IsUsedOnce $quotient)]>;

// (p + a / d) + b / d = p + (a + b) / d, for either order of each sum
class SharedDivisionPat<dag sum>
    : Pat<sum,
          (Arith_AddFOp $p, (Arith_DivFOp (Arith_AddFOp $a, $b, $flags), $d, $flags), $flags),
          [(IsTensor $d), (IsUsedOnce $sum), (IsUsedOnce $first), (IsUsedOnce $second)]>;
defvar FirstQuotient = (Arith_DivFOp:$first $a, $d, $_);
defvar SecondQuotient = (Arith_DivFOp:$second $b, $d, $_);
defvar InnerSums = [(Arith_AddFOp:$sum $p, FirstQuotient, $_),
                    (Arith_AddFOp:$sum FirstQuotient, $p, $_)];
foreach side = [0, 1] in {
  def SharedDivisionRight#side
      : SharedDivisionPat<(Arith_AddFOp InnerSums[side], SecondQuotient, $flags)>;
  def SharedDivisionLeft#side
      : SharedDivisionPat<(Arith_AddFOp SecondQuotient, InnerSums[side], $flags)>;
}

#endif // UPDRAFT_TRANSFORMS_RELAXEDALGEBRA_TD
