//===- UpdraftBase.td - Dialect, enums and types -------------------------------*- tablegen -*-===//
// The dialect, and the enums and types that its operations use.

#ifndef UPDRAFT_IR_BASE_TD
#define UPDRAFT_IR_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"

def Updraft_Dialect : Dialect {
  let name = "updraft";
  let summary = "Optimizer update rules";
  let description = [{
    An optimizer update rule computes one element of a parameter, in scalar SSA. Arithmetic uses the
    upstream dialects `arith` and `math`. This dialect adds the rule with its hyperparameters,
    states and requirements, and the plan that schedules a rule into host functions and sweeps over
    data.

    Constraints that types and traits can't express have a label such as `rule_c1`. The label
    appears in the operation's description, at the check in its verifier, and in the test of its
    message.

    A reduction over the group may carry the number `updraft.shared`, an i64. In a module with one
    rule for vectors and one for matrices, reductions with the same number are a single reduction
    over the tensors of both.

    Constraints:
    - `shared_c1`: `updraft.shared` is an i64 from 0 to 65535, of a reduction over `group`.
  }];
  let cppNamespace = "::updraft";
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Updraft_Type<string name, string typeMnemonic> : TypeDef<Updraft_Dialect, name> {
  let mnemonic = typeMnemonic;
}

class Updraft_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::updraft";
  let genSpecializedAttr = 0;
}

// Extents form a lattice of bit sets: a larger extent contains the bits of every smaller one. The
// join is the union, so the join of a row value and a column value is an element value.
//
// The upper six bits are those of matrices. 8: the values differ down the matrix, and there are as
// many as the parameter has rows. 16: they differ along it, and there are as many as the parameter
// has columns. 32 and 64 are the same with the parameter's columns down and its rows along. 128 and
// 256 are chosen rows or columns down and along.
def Updraft_Extent : Updraft_Enum<"Extent", "what a value is spread over", [
    I32EnumAttrCase<"model", 0b000000000>, I32EnumAttrCase<"group", 0b000000001>,
    I32EnumAttrCase<"tensor", 0b000000011>, I32EnumAttrCase<"batch", 0b000000111>,
    I32EnumAttrCase<"row", 0b000001111>, I32EnumAttrCase<"column", 0b000010111>,
    I32EnumAttrCase<"element", 0b000011111>,
    I32EnumAttrCase<"transposed_column", 0b000100111>,
    I32EnumAttrCase<"columns_by_columns", 0b000110111>,
    I32EnumAttrCase<"transposed_row", 0b001000111>,
    I32EnumAttrCase<"rows_by_rows", 0b001001111>,
    I32EnumAttrCase<"transposed", 0b001100111>,
    I32EnumAttrCase<"chosen_by_columns", 0b010010111>,
    I32EnumAttrCase<"chosen_by_rows", 0b011000111>,
    I32EnumAttrCase<"rows_by_chosen", 0b100001111>,
    I32EnumAttrCase<"columns_by_chosen", 0b100100111>,
    I32EnumAttrCase<"chosen_by_chosen", 0b110000111>]>;
def Updraft_ExtentAttr : EnumAttr<Updraft_Dialect, Updraft_Extent, "extent"> {
  let assemblyFormat = "$value";
}

// The shapes of matrices that a rule or plan is for. `wide` matrices have fewer rows than columns,
// `tall` ones more.
def Updraft_MatrixShapes : I32BitEnumAttr<"MatrixShapes", "shapes of matrices", [
    I32BitEnumAttrCaseBit<"wide", 0>, I32BitEnumAttrCaseBit<"square", 1>,
    I32BitEnumAttrCaseBit<"tall", 2>]> {
  let cppNamespace = "::updraft";
  let genSpecializedAttr = 0;
  let separator = "|";
}
def Updraft_MatrixShapesAttr : EnumAttr<Updraft_Dialect, Updraft_MatrixShapes, "shapes"> {
  let assemblyFormat = "$value";
}

def Updraft_ReductionKind : Updraft_Enum<"ReductionKind", "how values become one", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>]>;
def Updraft_ReductionKindAttr : EnumAttr<Updraft_Dialect, Updraft_ReductionKind, "kind"> {
  let assemblyFormat = "$value";
}

// The values are those of upd_matrix_function (updraft-c/descriptor.h), which defines the functions.
def Updraft_MatrixFunction : Updraft_Enum<"MatrixFunction", "a function of whole matrices", [
    I32EnumAttrCase<"qr", 0>, I32EnumAttrCase<"cholesky", 1>, I32EnumAttrCase<"eigenvectors", 2>,
    I32EnumAttrCase<"eigenvalues", 3>, I32EnumAttrCase<"solve_lower", 4>,
    I32EnumAttrCase<"solve_upper", 5>, I32EnumAttrCase<"sort_rows", 6>,
    I32EnumAttrCase<"sort_columns", 7>, I32EnumAttrCase<"transpose", 8>,
    I32EnumAttrCase<"largest", 9>, I32EnumAttrCase<"gather_rows", 10>,
    I32EnumAttrCase<"gather_columns", 11>, I32EnumAttrCase<"scatter_rows", 12>,
    I32EnumAttrCase<"scatter_columns", 13>]>;
def Updraft_MatrixFunctionAttr : EnumAttr<Updraft_Dialect, Updraft_MatrixFunction, "function"> {
  let assemblyFormat = "$value";
}

// Unlike the enums above, this one doesn't have an attribute of the dialect: MLIR can parse such an
// attribute at the start of a format only if it isn't optional.
def Updraft_OperandFormat : I32EnumAttr<
    "OperandFormat", "what operands of a product may be rounded to",
    [I32EnumAttrCase<"bf16", 0>, I32EnumAttrCase<"f16", 1>]> {
  let cppNamespace = "::updraft";
}

def Updraft_Quantisation : Updraft_Enum<"Quantisation", "how a code of a block stands for a value", [
    I32EnumAttrCase<"linear", 0>, I32EnumAttrCase<"companded", 1>]>;

def Updraft_ReductionAttr : AttrDef<Updraft_Dialect, "Reduction"> {
  let mnemonic = "reduction";
  let summary = "a reduction of a sweep: its kind and extent";
  let description = [{
    ```mlir
    #updraft.reduction<sum over tensor>
    ```
  }];
  let parameters = (ins EnumParameter<Updraft_ReductionKind>:$kind,
                        EnumParameter<Updraft_Extent>:$over);
  let assemblyFormat = "`<` $kind `over` $over `>`";
}
def Updraft_Reductions : TypedArrayAttrBase<Updraft_ReductionAttr, "reductions">;

def Updraft_StochasticType : Updraft_Type<"Stochastic", "stochastic"> {
  let summary = "storage with stochastic rounding";
  let description = [{
    Elements have the type `storage` in memory. A value is rounded to one of its two neighbours,
    more probably to the nearer one, so that the mean of the stored values is the value; see
    docs/numerics.md. `updraft-expand-storage` expands this to arithmetic.

    Constraints:
    - `stochastictype_c1`: `storage` is `bf16`.

    ```mlir
    !updraft.stochastic<bf16>
    ```
  }];
  let parameters = (ins "::mlir::Type":$storage);
  let assemblyFormat = "`<` $storage `>`";
  let genVerifyDecl = 1;
}

def Updraft_CorrectedType : Updraft_Type<"Corrected", "corrected"> {
  let summary = "storage with 8 additional bits";
  let description = [{
    Elements have the type `storage` in memory. A further state of one signed byte per element
    stores the difference between the value and its stored part, in units of 1/256 of the last
    place. docs/numerics.md defines the format; `updraft-expand-storage` expands it to arithmetic
    and the further state.

    Constraints:
    - `correctedtype_c1`: `storage` is `bf16`.

    ```mlir
    !updraft.corrected<bf16>
    ```
  }];
  let parameters = (ins "::mlir::Type":$storage);
  let assemblyFormat = "`<` $storage `>`";
  let genVerifyDecl = 1;
}

def Updraft_BlockedType : Updraft_Type<"Blocked", "blocked"> {
  let summary = "storage in blocks of 256 elements with one scale";
  let description = [{
    Stores one 8-bit code per element, and one `f32` scale per block of 256 elements in row-major
    order. In a rule or plan with `matrix`, a block has 256 columns of one row. The last block may
    be shorter. docs/numerics.md defines the formats: a value is its code times the scale, or for
    `companded` the square of the code times the scale, with its sign.

    ```mlir
    !updraft.blocked<linear>
    ```
  }];
  let parameters = (ins EnumParameter<Updraft_Quantisation>:$quantisation);
  let assemblyFormat = "`<` $quantisation `>`";
}

def Updraft_StreamType : Updraft_Type<"Stream", "stream"> {
  let summary = "the elements of one tensor, in memory";
  let description = [{
    A flat sequence of elements that a sweep reads or writes. `storage` is the type in memory; a sweep
    converts to and from its compute type, rounding to nearest even. `over` states whether there is
    one value per element of the parameter, or per row, column or batch.

    Constraints:
    - `streamtype_c1`: `storage` is `f32`, `f64`, `bf16`, `f16`, `i8` or `!updraft.blocked`.
    - `streamtype_c2`: `over` is `element`, `row`, `column`, `batch`, `rows_by_rows`,
      `columns_by_columns`, `chosen_by_columns`, `rows_by_chosen` or `chosen_by_chosen`.
    - `streamtype_c3`: a stream stored as `!updraft.blocked` is over `element`.

    ```mlir
    !updraft.stream<f64, row>
    ```
  }];
  let parameters = (ins "::mlir::Type":$storage,
                        DefaultValuedParameter<"::updraft::Extent",
                                               "::updraft::Extent::element">:$over);
  let assemblyFormat = "`<` $storage (`,` $over^)? `>`";
  let builders = [TypeBuilder<(ins "::mlir::Type":$storage), [{
    return $_get($_ctxt, storage, ::updraft::Extent::element);
  }]>];
  let genVerifyDecl = 1;
}

// The types in which a rule computes elements.
def Updraft_Compute : AnyTypeOf<[F32, F64], "compute type: f32 or f64">;
// The types of elements in memory.
def Updraft_Storage : AnyTypeOf<[F32, F64, BF16, F16], "storage type: f32, f64, bf16 or f16">;
// The types of parameters in memory.
def Updraft_ParamStorage : AnyTypeOf<[F32, F64, BF16, F16, Updraft_StochasticType,
                                      Updraft_CorrectedType],
    "storage type: f32, f64, bf16, f16, !updraft.stochastic or !updraft.corrected">;
// The types of states in memory.
def Updraft_StateStorage : AnyTypeOf<[F32, F64, BF16, F16, I8, Updraft_StochasticType,
                                      Updraft_CorrectedType, Updraft_BlockedType],
    "storage type: f32, f64, bf16, f16, i8, !updraft.stochastic, !updraft.corrected or "
    "!updraft.blocked">;
// A result of a sweep per tensor or group, or per row, column or batch.
def Updraft_SweepResult : AnyTypeOf<[F64, Updraft_StreamType], "f64 or a stream">;
// A result of a host function that a sweep may use: an element operand, a scalar, a flag.
def Updraft_Scalar : AnyTypeOf<[F32, F64, I1], "scalar: f32, f64 or i1">;

// Operations with one result, which is printed under its name in the source.
def Updraft_NamedResult : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;
// Operations whose block arguments are printed under the names of their operands.
def Updraft_NamedArguments
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;

class Updraft_Op<string mnemonic, list<Trait> traits = []> : Op<Updraft_Dialect, mnemonic, traits>;

#endif // UPDRAFT_IR_BASE_TD
