//===- Contraction.td - Sums of products in one operation ----------------------*- tablegen -*-===//
// A product that only a sum or difference uses is fused with it, which rounds once instead of
// twice. These come after all other rewrites: a fused product is none that a scalar could be merged
// into. A negation costs nothing: of a scalar it is the prologue's, else part of the instruction.

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
