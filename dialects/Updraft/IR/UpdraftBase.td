//===- UpdraftBase.td - Dialect, enums and types ------------------------*- tablegen -*-===//
// The dialect itself and what its operations are made of.

#ifndef UPDRAFT_IR_BASE_TD
#define UPDRAFT_IR_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Updraft_Dialect : Dialect {
  let name = "updraft";
  let summary = "Optimizer update rules";
  let description = [{
    An optimizer update rule is the computation of one element of a parameter, in scalar SSA. The
    arithmetic is upstream `arith` and `math`; this dialect adds what they lack: the rule with its
    hyperparameters, state and requirements, and the plan that schedules a rule into host functions
    and passes over data.
  }];
  let cppNamespace = "::updraft";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let useDefaultTypePrinterParser = 1;
}

class Updraft_Type<string name, string typeMnemonic> : TypeDef<Updraft_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Updraft_StreamType : Updraft_Type<"Stream", "stream"> {
  let summary = "the elements of one tensor, in memory";
  let description = [{
    A flat sequence of elements that a pass reads or writes. `storage` is the type in memory (`f32`,
    `f64`, `bf16`, `f16`); a pass converts to and from the plan's compute type, rounding to nearest
    even.
  }];
  let parameters = (ins "::mlir::Type":$storage);
  let assemblyFormat = "`<` $storage `>`";
  let genVerifyDecl = 1;
}

// The types a rule computes elements in.
def Updraft_Compute : AnyTypeOf<[F32, F64], "compute type: f32 or f64">;
// What a host function may hand to a pass: an element operand, a scalar, a flag.
def Updraft_Scalar : AnyTypeOf<[F32, F64, I1], "scalar: f32, f64 or i1">;

class Updraft_Op<string mnemonic, list<Trait> traits = []> : Op<Updraft_Dialect, mnemonic, traits>;

#endif // UPDRAFT_IR_BASE_TD
