//===- UpdraftRuleOps.td - A rule: one element's update ------------------------*- tablegen -*-===//
// Operations of the rule level. The frontend produces them, the reference interpreter runs them,
// and the scheduler turns them into a plan.

#ifndef UPDRAFT_IR_RULE_OPS_TD
#define UPDRAFT_IR_RULE_OPS_TD

include "Updraft/IR/UpdraftBase.td"
include "Updraft/IR/UpdraftInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Updraft_RuleOp : Updraft_Op<"rule", [
    ParentOneOf<["mlir::ModuleOp", "VariantsOp"]>, IsolatedFromAbove, NoRegionArguments,
    SingleBlock]> {
  let summary = "an optimizer update rule";
  let description = [{
    Updates one element of a parameter: computes the next (param, state) from (param, grad, state,
    hyperparameters, step). The body is one block of `arith` and `math` on scalars.

    $$ (p, s_1, \ldots, s_n) \leftarrow f(p, g, s_1, \ldots, s_n;\ h, t) $$

    Every value has an *extent*, the domain over which it varies: `model`, `group`, `tensor`,
    `batch`, `row`, `column` or `element`; or a matrix of another shape: `rows_by_rows`,
    `columns_by_columns`, or `transposed`, with a value for each column and row; or a matrix of
    chosen rows or columns, such as `chosen_by_columns` or `rows_by_chosen`. An operation has
    the least extent that contains those of its operands, and a constant has `model`.
    `updraft.hyper` has `group`; `updraft.step` and `updraft.first` have `tensor`; `updraft.param`,
    `updraft.grad` and `updraft.random` have `element`; states, sizes, reductions and identities
    state their extent; products and transposes have that of their shape. Values within `tensor` are
    scalars. They are computed once per step, in f64, or in the compute type if simplification
    removed the elements from them. Other values are computed in `compute`, except those that are
    reduced. A scalar becomes an operand of element arithmetic through `arith.truncf` (f32) or
    directly (f64).

    A rule is for tensors of any shape. With `matrix` it is for tensors of two or more dimensions:
    the last two are rows and columns, and leading dimensions are batches of one matrix each.
    With `shapes` it is for matrices of these shapes only. `updraft.variants` joins a rule for vectors
    and those for matrices. `chosen` is a fraction f: of a matrix with m rows and n columns,
    ceil(f min(m, n)) rows or columns are chosen. The product is in f64.

    Each operation rounds once, to nearest even; nothing is reassociated or contracted. With `fast`,
    `updraft-relax`, and `updraft-approximate` on a GPU, may rewrite the rule within the errors that
    docs/numerics.md states.

    Constraints:
    - `rule_c1`: the parameter, the gradient and identities have the compute type; operands and
      results of operations over rows, columns or elements are floats or integers.
    - `rule_c2`: there are exactly one `updraft.param` and one `updraft.grad`.
    - `rule_c3`: every operation is from `arith`, `math` or this dialect.
    - `rule_c4`: names of hyperparameters are unique; names of states are unique and neither `param`
      nor `grad`.
    - `rule_c5`: only a rule with `matrix` has values over rows, columns or batches, and matrices of
      other shapes than the parameter's.
    - `rule_c7`: only a rule with `matrix` has `shapes`.
    - `rule_c8`: `chosen` is greater than 0 and at most 1. A rule has it if it applies `largest` or
      has matrices of chosen rows or columns, and only one with `matrix` has it.
    - `rule_c6`: matrices that arithmetic combines have one shape, for parameters of every shape.

    Example:

    ```mlir
    updraft.rule @SGD compute f32 {
      %lr = updraft.hyper "lr" = 1.000000e-03
      %p = updraft.param stored f32 : f32
      %g = updraft.grad stored f32 : f32
      %k = arith.truncf %lr : f64 to f32
      %d = arith.mulf %k, %g : f32
      %n = arith.subf %p, %d : f32
      updraft.next %n : f32
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Updraft_Compute>:$compute,
                       UnitAttr:$matrix, OptionalAttr<Updraft_MatrixShapesAttr>:$shapes,
                       OptionalAttr<F64Attr>:$chosen, UnitAttr:$fast);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `compute` $compute (`matrix` $matrix^)? (`shapes` $shapes^)? (`chosen` $chosen^)?
    (`fast` $fast^)?
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Updraft_VariantsOp : Updraft_Op<"variants", [
    HasParent<"mlir::ModuleOp">, NoRegionArguments, NoTerminator, SingleBlock]> {
  let summary = "a rule in several forms, for vectors and for matrices";
  let description = [{
    All forms are `updraft.rule`, or all are `updraft.plan`. That of `vectors` is for tensors with
    fewer than two dimensions, those of `matrices` for the others: one form for all of them, or
    several, each for some shapes. Without a form in `vectors` the rule is for matrices only. A group
    may have tensors of all kinds, so the forms have the same hyperparameters and the same
    reductions over the group, whose results are combined.

    Constraints:
    - `variants_c1`: there are at least two forms, at most one of them in `vectors`, which doesn't
      have `matrix`. Those of `matrices` have it.
    - `variants_c4`: the forms of `matrices` are together for each shape once. The name of a form is
      that of the first with `_matrix`, or with the names of its shapes: @R_wide_square.
    - `variants_c2`: all have the same compute type, `fast` or not, the same hyperparameters with
      the same defaults, and requirements with the same messages.
    - `variants_c3`: states of the same name have the same storage and extent, and are in the same
      order. `param` and `grad` have the same storage. The forms of `matrices` have the same states.
    - `variants_c5`: all have the same probes in the same order.

    ```mlir
    updraft.variants vectors {
      updraft.rule @Mean compute f32 {
        %p = updraft.param stored f32 : f32
        %g = updraft.grad stored f32 : f32
        updraft.next %g : f32
      }
    } matrices {
      updraft.rule @Mean_matrix compute f32 matrix {
        %p = updraft.param stored f32 : f32
        %g = updraft.grad stored f32 : f32
        %s = updraft.reduce sum %g over row : f32
        %r = arith.truncf %s : f64 to f32
        updraft.next %r : f32
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$vectors, SizedRegion<1>:$matrices);
  let assemblyFormat = "`vectors` $vectors `matrices` $matrices attr-dict";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the rules or plans, that for vectors first.
    llvm::SmallVector<mlir::Operation *, 4> getForms();
    /// Returns a rule or plan for matrices. All have the same states.
    mlir::Operation *getMatrixForm() { return &getMatrices().front().front(); }
    /// Returns the rule or plan for vectors, or null.
    mlir::Operation *getVectorForm();
  }];
}

class Updraft_RuleInput<string mnemonic, list<Trait> traits = []>
    : Updraft_Op<mnemonic, traits # [ParentOneOf<["RuleOp", "PlanOp"]>, Updraft_NamedResult,
                                     Updraft_WithExtent]>;

// Not Pure, like `updraft.param`, `updraft.grad` and `updraft.state`. These are the rule's
// interface: an unused hyperparameter is still a hyperparameter.
def Updraft_HyperOp : Updraft_RuleInput<"hyper"> {
  let summary = "a hyperparameter";
  let description = [{
    A run-time argument of the rule, one value per parameter group, with its default.

    ```mlir
    %lr = updraft.hyper "lr" = 1.000000e-03
    ```
  }];
  let arguments = (ins StrAttr:$name, F64Attr:$default_value);
  let results = (outs F64:$result);
  let assemblyFormat = "$name `=` $default_value attr-dict";
}

def Updraft_StepOp : Updraft_RuleInput<"step", [Pure]> {
  let summary = "the parameter's step count, including this step";
  let description = [{
    1 at a parameter's first step. An integer, exactly represented in f64.

    ```mlir
    %t = updraft.step
    ```
  }];
  let results = (outs F64:$result);
  let assemblyFormat = "attr-dict";
}

def Updraft_FirstOp : Updraft_RuleInput<"first", [Pure]> {
  let summary = "whether the parameter had no state before this step";
  let description = [{
    True if the states have their initial values. For rules whose first step differs: in SGD, the
    first momentum is the undamped gradient.

    ```mlir
    %first = updraft.first
    ```
  }];
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Updraft_SizeOp : Updraft_RuleInput<"size", [Pure]> {
  let summary = "the number of values that a reduction takes";
  let description = [{
    Over `tensor`, the number of elements of the parameter; over `row`, the number of columns; over
    `column`, the number of rows; over `group`, the number of elements of all parameters of the
    group that take part in the step.

    Constraints:
    - `size_c1`: `over` is `group`, `tensor`, `row` or `column`.

    ```mlir
    %n = updraft.size over tensor
    ```
  }];
  let arguments = (ins Updraft_ExtentAttr:$over);
  let results = (outs F64:$result);
  let assemblyFormat = "`over` `` $over attr-dict";
  let hasVerifier = 1;
}

class Updraft_ElementInput<string mnemonic>
    : Updraft_Op<mnemonic, [HasParent<"RuleOp">, Updraft_NamedResult, Updraft_WithExtent,
                            Updraft_TensorInput]> {
  let results = (outs Updraft_Compute:$result);
  let extraClassDeclaration = "llvm::StringRef getTensorName();";
}

def Updraft_ParamOp : Updraft_ElementInput<"param"> {
  let summary = "the parameter's element, before the step";
  let description = [{
    `storage` is the type in memory. The result has the rule's compute type, to which all storage
    types convert exactly, except f64 in a rule that computes in f32.

    ```mlir
    %p = updraft.param stored bf16 : f32
    ```
  }];
  let arguments = (ins TypeAttrOf<Updraft_ParamStorage>:$storage);
  let assemblyFormat = "`stored` $storage attr-dict `:` type($result)";
}

def Updraft_GradOp : Updraft_ElementInput<"grad"> {
  let summary = "the gradient's element";
  let description = [{
    Read, never written. `storage` is as in `updraft.param`.

    ```mlir
    %g = updraft.grad stored f32 : f32
    ```
  }];
  let arguments = (ins TypeAttrOf<Updraft_Storage>:$storage);
  let assemblyFormat = "`stored` $storage attr-dict `:` type($result)";
}

def Updraft_StateOp : Updraft_ElementInput<"state"> {
  let summary = "a state's value, before the step";
  let description = [{
    A state persists from step to step. It is a tensor of the parameter's shape, or has one value
    per row, column, parameter or group, as `over` says, or a square matrix for each matrix of the
    parameter: over `rows_by_rows` or `columns_by_columns`. A value per parameter or group is a
    scalar in f64; others have the compute type. `initial`, a scalar that depends only on
    hyperparameters, is the value before the first step. A state is `from_step` if the rule itself
    computes its initial value at the first step, from the parameter, its gradient or the step
    count. Values stored as `i8` must be integers from -128 to 127.

    Constraints:
    - `state_c1`: `initial` has at most the extent `group`.
    - `state_c2`: the result is f64 for a state over `tensor` or `group`, else of the compute type;
      there is no state over `model`, `batch` or transposed matrices.
    - `state_c3`: a state stored as `!updraft.blocked` is over `element`.
    - `state_c4`: a state stored as `i8`, `!updraft.stochastic` or `!updraft.corrected` is over
      `element`.

    ```mlir
    %m = updraft.state "exp_avg" stored f32 initial %zero : f32
    %mu = updraft.state "mu_product" over tensor stored f32 initial %one : f64
    ```
  }];
  let arguments = (ins StrAttr:$name,
                       DefaultValuedAttr<Updraft_ExtentAttr, "::updraft::Extent::element">:$over,
                       TypeAttrOf<Updraft_StateStorage>:$storage, F64:$initial,
                       UnitAttr:$from_step);
  let assemblyFormat = [{
    $name (`over` `` $over^)? `stored` $storage `initial` $initial (`from_step` $from_step^)?
    attr-dict `:` type($result)
  }];
}

def Updraft_RandomOp : Updraft_Op<"random", [
    ParentOneOf<["RuleOp", "SweepOp"]>, Pure, Updraft_WithExtent]> {
  let summary = "random bits of the element";
  let description = [{
    64 bits of Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
    2011). The key is the seed. The counter combines the element's index, the step, the parameter's
    number and the `stream`, so bits are the same on every target and differ at every step. The
    first of the cipher's four words is the lower half, the second the upper half.

    Streams from 16 on belong to `updraft-expand-storage`; rules written in the language don't use
    them.

    Constraints:
    - `random_c1`: `stream` is from 0 to 255.

    ```mlir
    %bits = updraft.random 0
    ```
  }];
  let arguments = (ins I64Attr:$stream);
  let results = (outs I64:$result);
  let assemblyFormat = "$stream attr-dict";
  let hasVerifier = 1;
}

def Updraft_ReduceOp : Updraft_Op<"reduce", [HasParent<"RuleOp">, Pure, Updraft_WithExtent]> {
  let summary = "a reduction to one value";
  let description = [{
    The sum or the maximum of a value over the whole group, the tensor, or each batch, row or
    column. The arithmetic and the result are f64; docs/dialect.md fixes the order of operations.
    The maximum is NaN if any value is NaN; the maximum of no values is -infinity.

    Constraints:
    - `reduce_c1`: `over` is `group`, `tensor`, `batch`, `row` or `column`.
    - `reduce_c2`: the operand has a larger extent than the result.
    - `reduce_c3`: the operand is over elements, rows, columns or batches, or a square matrix or one
      of chosen rows or columns. A transposed matrix has no order of its own; its transpose is
      reduced.
    - `reduce_c4`: over `batch`, the operand is over rows or columns: elements are reduced over rows
      first.

    ```mlir
    %n = updraft.reduce sum %square over tensor : f64
    ```
  }];
  let arguments = (ins Updraft_ReductionKindAttr:$kind, Updraft_Compute:$input,
                       Updraft_ExtentAttr:$over);
  let results = (outs F64:$result);
  let assemblyFormat = "`` $kind $input `over` `` $over attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Updraft_ProductOp : Updraft_Op<"product", [
    HasParent<"RuleOp">, Pure, AllTypesMatch<["lhs", "rhs", "result"]>, Updraft_WithExtent,
    Updraft_OfWholeMatrices]> {
  let summary = "an element of a product of matrices";
  let description = [{
    $$ c_{ij} = \sum_k a_{ik} b_{kj} $$

    Each batch has a product of its own. The sum is a chain of fused multiply-adds in the order of
    `k` that begins with 0, in the type of the operands: c = fma(a, b, c). Its bits therefore
    depend on neither vectors nor tiles nor threads.

    With `symmetric`, only the elements with j <= i are computed, and c_ji is c_ij. A product of a
    matrix and its transpose, or of a symmetric matrix and itself, has the same bits with and without
    `symmetric`, so `updraft-orient-products` adds the word. For other operands it is a part of the
    rule.

    With `bf16` or `f16`, a `fast` rule may round the operands to this type first, and add up in any
    order.

    Constraints:
    - `product_c1`: both operands are matrices of values: over `element`, `rows_by_rows`,
      `columns_by_columns`, `transposed` or chosen rows or columns.
    - `product_c2`: there are as many columns of `lhs` as rows of `rhs`, for parameters of every
      shape.
    - `product_c3`: the result of a `symmetric` product is square.

    ```mlir
    %t = updraft.transpose %x : f32
    %gram = updraft.product symmetric %x, %t : f32
    %y = updraft.product %gram, %x : f32
    ```
  }];
  let arguments = (ins OptionalAttr<Updraft_OperandFormat>:$operand_format, UnitAttr:$symmetric,
                       Updraft_Compute:$lhs, Updraft_Compute:$rhs);
  let results = (outs Updraft_Compute:$result);
  let assemblyFormat = [{
    ($operand_format^)? (`symmetric` $symmetric^)? $lhs `,` $rhs attr-dict `:` type($result)
  }];
}

def Updraft_TransposeOp : Updraft_Op<"transpose", [
    HasParent<"RuleOp">, Pure, AllTypesMatch<["input", "result"]>, Updraft_WithExtent]> {
  let summary = "an element of the transpose of a matrix";
  let description = [{
    Element (i, j) of the result is element (j, i) of the operand, in each batch.

    Constraints:
    - `transpose_c1`: the operand is a matrix of values: over `element`, `rows_by_rows`,
      `columns_by_columns`, `transposed` or chosen rows or columns.

    ```mlir
    %t = updraft.transpose %x : f32
    ```
  }];
  let arguments = (ins Updraft_Compute:$input);
  let results = (outs Updraft_Compute:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Updraft_IdentityOp : Updraft_Op<"identity", [
    ParentOneOf<["RuleOp", "SweepOp"]>, Pure, Updraft_WithExtent]> {
  let summary = "an element of the identity matrix";
  let description = [{
    1 on the diagonal of each batch's square matrix, 0 elsewhere.

    Constraints:
    - `identity_c1`: `over` is `rows_by_rows` or `columns_by_columns`.

    ```mlir
    %i = updraft.identity over rows_by_rows : f32
    ```
  }];
  let arguments = (ins Updraft_ExtentAttr:$over);
  let results = (outs Updraft_Compute:$result);
  let assemblyFormat = "`over` `` $over attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Updraft_BroadcastOp : Updraft_Op<"broadcast", [
    HasParent<"RuleOp">, Pure, AllTypesMatch<["input", "result"]>, Updraft_WithExtent]> {
  let summary = "a value for each place of a larger extent";
  let description = [{
    The operand, at each place of `over`. Reductions, products and functions of matrices have such
    an operand where simplification could find that a value is the same for all elements, as in
    `sum(if grad > 0 then 1 else 1)`. `updraft-simplify` erases those whose operand still differs
    from element to element.

    Constraints:
    - `broadcast_c1`: the extent of the operand is `over`, or within it.

    ```mlir
    %one = arith.constant 1.0 : f32
    %ones = updraft.broadcast %one over element : f32
    ```
  }];
  let arguments = (ins Updraft_Compute:$input, Updraft_ExtentAttr:$over);
  let results = (outs Updraft_Compute:$result);
  let assemblyFormat = "$input `over` `` $over attr-dict `:` type($result)";
}

def Updraft_ApplyOp : Updraft_Op<"apply", [
    HasParent<"RuleOp">, Pure, Updraft_WithExtent, Updraft_OfWholeMatrices]> {
  let summary = "an element of a function of whole matrices";
  let description = [{
    Each batch has a call of its own. The functions are:

    - `qr(a)`: the orthogonal factor Q of a = Q R; the diagonal of R is not negative
    - `cholesky(a)`: the lower triangular l with a = l l^T; reads the lower triangle of a
    - `eigenvectors(a)`: the eigenvectors of a symmetric matrix, as columns, in ascending order of
      their eigenvalues; the largest element of each, the first of several, is positive. Reads the
      lower triangle.
    - `eigenvalues(a)`: the eigenvalues in ascending order, over rows or columns
    - `solve_lower(l, b)`, `solve_upper(u, b)`: x with l x = b, where the other triangle of l counts
      as 0
    - `sort_rows(a, d)`, `sort_columns(a, d)`: the rows or columns of a in descending order of d,
      which has a value for each of them; equal ones keep their order, and NaN comes last
    - `transpose(a)`: the transpose in memory of its own. `updraft-orient-products` adds it where
      arithmetic needs a transpose.
    - `largest(d)`: 1 for the largest of the values of each batch, 0 for the others. As many are 1 as
      `chosen` of the rule says. The earlier ones of equal values are chosen, and NaN comes last.
    - `gather_rows(a, d)`, `gather_columns(a, d)`: the rows or columns of a for which `largest(d)` is
      1, in the order of a. d has a value for each row or column of a.
    - `scatter_rows(a, d)`, `scatter_columns(a, d)`: a matrix of the parameter's shape, whose chosen
      rows or columns are those of a. The others are 0.

    The first six are computed by LAPACK. Their bits depend on the library. An operand that isn't
    finite, or a factorization that doesn't exist, gives NaN.

    Constraints:
    - `apply_c1`: the solvers and the functions that sort, gather and scatter have two operands, the
      others one. They have the type of the result.
    - `apply_c2`: the first operand is a square matrix. That of a sort may also be over `element`.
      That of a gather is over `element`, that of `scatter_rows` over `chosen_by_columns`, that of
      `scatter_columns` over `rows_by_chosen`, and that of `largest` over `row` or `column`.
    - `apply_c3`: the second operand of a solver is a matrix with as many rows as the first.
    - `apply_c4`: the second operand of `sort_rows` is over what the first has down its rows, that
      of `sort_columns` over what it has along its columns: `row` or `column`. That of `gather_rows`
      and `scatter_rows` is over `row`, that of `gather_columns` and `scatter_columns` over `column`.

    ```mlir
    %t = updraft.transpose %x : f32
    %gram = updraft.product symmetric %x, %t : f32
    %q = updraft.apply eigenvectors(%gram) : (f32) -> f32
    ```
  }];
  let arguments = (ins Updraft_MatrixFunctionAttr:$function, Variadic<Updraft_Compute>:$inputs);
  let results = (outs Updraft_Compute:$result);
  let assemblyFormat = [{
    `` $function `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)
  }];
}

def Updraft_RequireOp : Updraft_Op<"require", [HasParent<"RuleOp">]> {
  let summary = "a condition on the hyperparameters";
  let description = [{
    The runtime checks the condition whenever a hyperparameter is set, and rejects the value with
    the message. `{name}` in the message is replaced by the value of a hyperparameter, `{{` and `}}`
    by braces.

    Constraints:
    - `require_c1`: the condition has at most the extent `group`.
    - `require_c2`: braces in the message are paired, and each name in them is a hyperparameter's.

    ```mlir
    updraft.require %ok, "Invalid learning rate: {lr}"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
  let hasCanonicalizeMethod = 1;
}

// Not Pure: a probe is a result of the rule.
def Updraft_ProbeOp : Updraft_Op<"probe", [ParentOneOf<["RuleOp", "PlanOp"]>]> {
  let summary = "a number that a step reports";
  let description = [{
    A scalar of the tensor that a step computes beside the next parameter and states. It is not
    kept from step to step, so it isn't a state, and nothing in the rule reads it.
    `updraft-separate-probes` makes a rule without probes beside each rule that has some. A step
    that isn't observed runs its plan.

    If the step is skipped, a probe that is known when the condition of `skip` is known has its
    value. The others are NaN.

    Probes with an `end` are the counts of a histogram: how many elements are less than `end`, but
    not less than the end before it. The last end is infinity, and its count includes infinite
    elements. NaN is counted nowhere.

    Constraints:
    - `probe_c1`: the value has at most the extent `tensor`.
    - `probe_c2`: names of probes are unique in a rule or plan, but the counts of a histogram share
      one.
    - `probe_c3`: in a plan, the value is a result of a prologue that nothing else uses.
    - `probe_c4`: the counts of a histogram follow each other. Their ends ascend, there are at least
      two, and the last one is infinity.

    ```mlir
    updraft.probe "gradient_norm" = %norm
    updraft.probe "sizes" end 1.0e-03 = %small
    updraft.probe "sizes" end 1.0 = %medium
    updraft.probe "sizes" end 0x7FF0000000000000 = %large
    ```
  }];
  let arguments = (ins StrAttr:$name, F64:$value, OptionalAttr<F64Attr>:$end);
  let assemblyFormat = "$name (`end` $end^)? `=` $value attr-dict";
}

def Updraft_NextOp : Updraft_Op<"next", [
    Terminator, AttrSizedOperandSegments, HasParent<"RuleOp">]> {
  let summary = "the next parameter and states";
  let description = [{
    The value of the parameter after the step, then one value per `updraft.state`, in order. A state
    that keeps its value is passed through. If the condition of `skip` holds, the step does not
    happen: the parameter, states and step count don't change.

    Constraints:
    - `next_c1`: one operand for the parameter and one per state.
    - `next_c2`: the operands have the types of the parameter and the states.
    - `next_c3`: an operand has at most the extent of its state.
    - `next_c4`: the condition of `skip` has at most the extent `tensor`.

    ```mlir
    updraft.next %p1, %m1, %v1 skip(%bad) : f32, f32, f32
    ```
  }];
  let arguments = (ins Updraft_Compute:$param, Variadic<Updraft_Compute>:$states,
                       Optional<I1>:$skip);
  let assemblyFormat = [{
    $param (`,` $states^)? (`skip` `(` $skip^ `)`)? attr-dict
    `:` type($param) (`,` type($states)^)?
  }];
  let hasVerifier = 1;
}

#endif // UPDRAFT_IR_RULE_OPS_TD
