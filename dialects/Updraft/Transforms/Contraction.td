//===- Contraction.td - Sums of products in one operation ----------------------*- tablegen -*-===//
// Fuses a product with the sum or difference that is its only use, which then rounds once instead
// of twice. These patterns run after all other rewrites, because a scalar can't be merged into a
// fused product. Negations are free: the prologue negates scalars, and the instruction negates
// other values.

#ifndef UPDRAFT_TRANSFORMS_CONTRACTION_TD
#define UPDRAFT_TRANSFORMS_CONTRACTION_TD

include "mlir/Dialect/Arith/IR/ArithOps.td"
include "mlir/Dialect/Math/IR/MathOps.td"
include "mlir/IR/PatternBase.td"

def IsOwnProduct : Constraint<CPred<"isOwnProduct($0)">, "a product of tensors used nowhere else">;

// c + a * b, a * b + c
def SumRight : Pat<(Arith_AddFOp $c, (Arith_MulFOp:$product $a, $b, $_), $flags),
                   (Math_FmaOp $a, $b, $c, $flags), [(IsOwnProduct $product)]>;
def SumLeft : Pat<(Arith_AddFOp (Arith_MulFOp:$product $a, $b, $_), $c, $flags),
                  (Math_FmaOp $a, $b, $c, $flags), [(IsOwnProduct $product)]>;

// c - a * b, a * b - c
def DifferenceRight : Pat<(Arith_SubFOp $c, (Arith_MulFOp:$product $a, $b, $_), $flags),
                          (Math_FmaOp $a, (Arith_NegFOp $b, $flags), $c, $flags),
                          [(IsOwnProduct $product)]>;
def DifferenceLeft : Pat<(Arith_SubFOp (Arith_MulFOp:$product $a, $b, $_), $c, $flags),
                         (Math_FmaOp $a, $b, (Arith_NegFOp $c, $flags), $flags),
                         [(IsOwnProduct $product)]>;

#endif // UPDRAFT_TRANSFORMS_CONTRACTION_TD
