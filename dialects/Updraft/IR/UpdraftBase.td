//===- UpdraftBase.td - Dialect, enums and types -------------------------------*- tablegen -*-===//
// The dialect itself and what its operations are made of.

#ifndef UPDRAFT_IR_BASE_TD
#define UPDRAFT_IR_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"

def Updraft_Dialect : Dialect {
  let name = "updraft";
  let summary = "Optimizer update rules";
  let description = [{
    An optimizer update rule is the computation of one element of a parameter, in scalar SSA. The
    arithmetic is upstream `arith` and `math`; this dialect adds what they lack: the rule with its
    hyperparameters, state and requirements, and the plan that schedules a rule into host functions
    and passes over data.

    A constraint that a type or trait can't say has a label such as `rule_c1`: in the description of
    the operation, at the check in its verifier, and in the test of its message.
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
    A flat sequence of elements that a pass reads or writes. `storage` is the type in memory; a pass
    converts to and from the plan's compute type, rounding to nearest even.

    Constraints:
    - `streamtype_c1`: `storage` is `f32`, `f64`, `bf16` or `f16`.

    ```mlir
    !updraft.stream<bf16>
    ```
  }];
  let parameters = (ins "::mlir::Type":$storage);
  let assemblyFormat = "`<` $storage `>`";
  let genVerifyDecl = 1;
}

// The types a rule computes elements in.
def Updraft_Compute : AnyTypeOf<[F32, F64], "compute type: f32 or f64">;
// The types that elements have in memory.
def Updraft_Storage : AnyTypeOf<[F32, F64, BF16, F16], "storage type: f32, f64, bf16 or f16">;
// What a host function may hand to a pass: an element operand, a scalar, a flag.
def Updraft_Scalar : AnyTypeOf<[F32, F64, I1], "scalar: f32, f64 or i1">;

// Operations with one result that is printed under the name it has in the source.
def Updraft_NamedResult : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;
// Operations whose block arguments are printed under the names of what they stand for.
def Updraft_NamedArguments
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;

class Updraft_Op<string mnemonic, list<Trait> traits = []> : Op<Updraft_Dialect, mnemonic, traits>;

#endif // UPDRAFT_IR_BASE_TD
