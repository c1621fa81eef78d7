//===- UpdraftPlanOps.td - A plan: host functions and sweeps -------------------*- tablegen -*-===//
// Operations of the plan level: a scheduled rule, from which every target's lowering starts.

#ifndef UPDRAFT_IR_PLAN_OPS_TD
#define UPDRAFT_IR_PLAN_OPS_TD

include "Updraft/IR/UpdraftBase.td"
include "Updraft/IR/UpdraftInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Updraft_PlanOp : Updraft_Op<"plan", [
    ParentOneOf<["mlir::ModuleOp", "VariantsOp"]>, IsolatedFromAbove, NoRegionArguments,
    NoTerminator, SingleBlock]> {
  let summary = "a scheduled rule";
  let description = [{
    A plan has the interface of the rule (`updraft.hyper`, `updraft.stream` and `updraft.scalar`, in
    the order of the kernel's arguments), its host functions (`updraft.initial`, `updraft.validate`,
    `updraft.prologue`), its sweeps over data, its products and its calls of functions of matrices,
    in execution order.

    Sweeps, products and calls may have a condition: `when(%c)`. If it is false, nothing that the
    step keeps depends on the results, and the operation changes no stream. A target must then leave
    it out, because its results may be in memory that another matrix uses.

    The first stream is `param`, the second `grad`. The states follow in the order of declaration,
    each a stream or a scalar. If the rule changes nothing, the plan has no sweep. A plan with
    `matrix` is for tensors of two or more dimensions, or for matrices of the `shapes` that it
    names, and reduces elements by rows. A plan with
    `fast` is for a `fast` rule.

    Constraints:
    - `plan_c1`: the body has only `updraft.hyper`, `updraft.step`, `updraft.first`, `updraft.size`,
      `updraft.stream`, `updraft.scalar`, host functions, sweeps, `updraft.multiply`,
      `updraft.call`, `updraft.commit` and `updraft.probe`.
    - `plan_c2`: the first two streams are `param` and `grad`; names of streams and scalars are
      unique, and so are names of hyperparameters.
    - `plan_c3`: there are exactly one `updraft.initial` and one `updraft.validate`, and at most one
      `updraft.commit`.
    - `plan_c4`: only a plan with `matrix` has `shapes`, and streams over rows, columns or square
      matrices; no `updraft.stream` is over batches or chosen rows or columns.
    - `plan_c5`: `chosen` is as `updraft.rule` says. A plan has it if it calls `largest` or has
      temporaries over chosen rows or columns.

    ```mlir
    updraft.plan @SGD compute f32 {
      %lr = updraft.hyper "lr" = 1.000000e-03
      %p = updraft.stream "param" : !updraft.stream<f32>
      %g = updraft.stream "grad" : !updraft.stream<f32>
      updraft.initial() {
        updraft.yield
      }
      updraft.validate() messages [] {
        updraft.yield
      }
      %k = updraft.prologue(%lr) : (f64) -> f32 {
      ^bb0(%a: f64):
        %0 = arith.truncf %a : f64 to f32
        updraft.yield %0 : f32
      }
      updraft.sweep scalars(%k : f32)
          reads(%p, %g : !updraft.stream<f32>, !updraft.stream<f32>)
          writes(%p : !updraft.stream<f32>) {
      ^bb0(%s: f32, %pe: f32, %ge: f32):
        %d = arith.mulf %s, %ge : f32
        %n = arith.subf %pe, %d : f32
        updraft.store %n : f32
      }
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
  let extraClassDeclaration = [{
    /// Whether the plan has products.
    bool multiplies();
    /// Whether the plan has products or calls of functions of matrices.
    bool hasWholeMatrices();
    /// Whether the plan has probes.
    bool isProbed();
    /// Whether the plan is for the probed steps of a rule that has a plan for the others, too.
    bool isBesideUnprobed();
  }];
  let hasRegionVerifier = 1;
}

def Updraft_StreamOp : Updraft_Op<"stream", [HasParent<"PlanOp">, Updraft_NamedResult]> {
  let summary = "one tensor of the step";
  let description = [{
    The parameter, its gradient or a state, as sweeps read and write it. The streams of a plan don't
    overlap. A state is `from_step` if sweeps compute its initial value (`updraft.state`).

    ```mlir
    %m = updraft.stream "exp_avg" : !updraft.stream<f32>
    ```
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$from_step);
  let results = (outs Updraft_StreamType:$result);
  let assemblyFormat = "$name (`from_step` $from_step^)? attr-dict `:` type($result)";
}

def Updraft_ScalarOp : Updraft_Op<"scalar", [HasParent<"PlanOp">, Updraft_NamedResult]> {
  let summary = "a state of one value";
  let description = [{
    The value, before the step, of a state with one value per parameter or group. The result is f64
    for every storage type.

    Constraints:
    - `scalar_c1`: `over` is `tensor` or `group`.

    ```mlir
    %mu = updraft.scalar "mu_product" over tensor stored f32
    ```
  }];
  let arguments = (ins StrAttr:$name, Updraft_ExtentAttr:$over, TypeAttrOf<Updraft_Storage>:$storage);
  let results = (outs F64:$result);
  let assemblyFormat = "$name `over` `` $over `stored` $storage attr-dict";
  let hasVerifier = 1;
}

// A region that the host runs once, on scalars.
class Updraft_HostFunctionOp<string mnemonic> : Updraft_Op<mnemonic, [
    HasParent<"PlanOp">, IsolatedFromAbove, SingleBlock, Updraft_NamedArguments]> {
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
}

def Updraft_InitialOp : Updraft_HostFunctionOp<"initial"> {
  let summary = "the initial value of each state";
  let description = [{
    Yields one f64 per state, in the order of declaration. The runtime rounds it to the state's
    storage type.

    Constraints:
    - `initial_c1`: block arguments match the operands; one f64 is yielded per state.
    - `initial_c2`: the operands are hyperparameters.
    - `initial_c3`: every operation of the body is from `arith`, `math` or `scf`.

    ```mlir
    updraft.initial(%lr) {
    ^bb0(%a: f64):
      %zero = arith.constant 0.000000e+00 : f64
      updraft.yield %zero, %a : f64, f64
    }
    ```
  }];
  let arguments = (ins Variadic<F64>:$inputs);
  let assemblyFormat = "`(` $inputs `)` attr-dict-with-keyword $body";
}

def Updraft_ValidateOp : Updraft_HostFunctionOp<"validate"> {
  let summary = "the requirements on the hyperparameters";
  let description = [{
    Yields one i1 per message. If any is false, the hyperparameters are rejected with the message of
    the first. `{name}` in a message is replaced by the value of a hyperparameter, `{{` and `}}` by
    braces.

    Constraints:
    - `validate_c1`: block arguments match the operands; one i1 is yielded per message.
    - `validate_c2`: the operands are hyperparameters.
    - `validate_c3`: every operation of the body is from `arith`, `math` or `scf`.
    - `validate_c4`: braces in a message are paired, and each name in them is a hyperparameter's.

    ```mlir
    updraft.validate(%lr) messages ["Invalid learning rate: {lr}"] {
    ^bb0(%a: f64):
      %zero = arith.constant 0.000000e+00 : f64
      %ok = arith.cmpf oge, %a, %zero : f64
      updraft.yield %ok : i1
    }
    ```
  }];
  let arguments = (ins Variadic<F64>:$inputs, StrArrayAttr:$messages);
  let assemblyFormat = "`(` $inputs `)` `messages` $messages attr-dict-with-keyword $body";
}

def Updraft_PrologueOp : Updraft_HostFunctionOp<"prologue"> {
  let summary = "the scalars of a step";
  let description = [{
    Runs before the sweeps that follow it, once for all tensors that share its operands. Its results
    are scalar operands of sweeps, scales of products, conditions of sweeps, products and calls, and
    operands of `updraft.commit` and `updraft.probe`. A prologue computes as the rule says, mostly in
    f64, and rounds the operands of sweeps and products to the compute type. A plan has one prologue
    before its first sweep, and one after each sweep whose reductions lead to more scalars.

    Constraints:
    - `prologue_c1`: block arguments match the operands; yielded values match the results.
    - `prologue_c2`: every operation of the body is from `arith`, `math` or `scf`.
    - `prologue_c3`: the operands are hyperparameters, `updraft.step`, `updraft.first`,
      `updraft.size`, `updraft.scalar` or reductions of sweeps.

    ```mlir
    %k = updraft.prologue(%lr) : (f64) -> f32 {
    ^bb0(%a: f64):
      %minus = arith.negf %a : f64
      %0 = arith.truncf %minus : f64 to f32
      updraft.yield %0 : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Updraft_Scalar>:$inputs);
  let results = (outs Variadic<Updraft_Scalar>:$results);
  let assemblyFormat = [{
    `(` $inputs `)` `:` functional-type($inputs, $results) attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// Whether parameters of one group, at the same step, may differ in its results.
    bool isPerTensor();
  }];
}

def Updraft_YieldOp : Updraft_Op<"yield", [
    Terminator, Pure, ParentOneOf<["InitialOp", "ValidateOp", "PrologueOp"]>]> {
  let summary = "results of a host function";
  let description = [{
    ```mlir
    updraft.yield %zero, %a : f64, f64
    ```
  }];
  let arguments = (ins Variadic<Updraft_Scalar>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Updraft_CommitOp : Updraft_Op<"commit", [HasParent<"PlanOp">, AttrSizedOperandSegments]> {
  let summary = "the results of a step other than streams";
  let description = [{
    The next values of the plan's scalars, in order, and whether to skip the step. Skipping keeps
    the scalars and the step count, and skips every sweep after the condition is known.

    Constraints:
    - `commit_c1`: there is one scalar per `updraft.scalar`.
    - `commit_c2`: the operands are results of prologues that nothing else uses.
    - `commit_c3`: no sweep or product writes before the prologue that has the condition of `skip`.

    ```mlir
    updraft.commit scalars(%mu1) skip(%bad)
    ```
  }];
  let arguments = (ins Variadic<F64>:$scalars, Optional<I1>:$skip);
  let assemblyFormat = "(`scalars` `(` $scalars^ `)`)? (`skip` `(` $skip^ `)`)? attr-dict";
  let hasVerifier = 1;
}

def Updraft_SweepOp : Updraft_Op<"sweep", [
    HasParent<"PlanOp">, AttrSizedOperandSegments,
    IsolatedFromAbove, SingleBlock, Updraft_NamedArguments, Updraft_Stage]> {
  let summary = "one sweep over data";
  let description = [{
    Runs its body for every value of its extent: for every element, row, column or batch of a
    tensor. Block arguments are the scalars, then one value per stream read, widened to the compute
    type unless another sweep or a product made the stream. `updraft.store` gives one value per stream
    written, one per reduction, and one per temporary that the sweep produces. Streams may overlap
    only if they are identical: each element is read before it is written.

    The results are first the reductions, each an f64 over a tensor or group or a stream of f64 over
    rows, columns or batches, then the temporaries. Only a sweep over elements may keep a temporary
    over elements, and so for square matrices; it is an operand of a product.

    Constraints:
    - `sweep_c1`: block arguments match the scalars and the streams read.
    - `sweep_c2`: one stored value per stream written and per temporary, one f64 per reduction.
    - `sweep_c3`: no stream is read twice or written twice.
    - `sweep_c4`: every operation of the body is from `arith` or `math`, or is `updraft.random` in a
      sweep over elements, or `updraft.identity` in one over its square matrices; its values are of a
      floating-point or an integer type.
    - `sweep_c5`: the scalars are results of prologues, of the compute type or i1, and so is the
      condition.
    - `sweep_c6`: the extent is one that streams may have. Streams written have it, and streams read
      have one within it.
    - `sweep_c7`: results match the reductions, which are over smaller extents than the sweep, and the
      temporaries, which are streams of its extent.
    - `sweep_c8`: a sweep over rows or columns that uses values of batches has no reduction over a
      tensor or group; one over elements reduces nothing over batches.
    - `sweep_c9`: only a sweep of a plan with `matrix` runs or reduces over rows, columns or batches.
    - `sweep_c10`: a sweep with a condition reduces nothing over the group, in whose reductions every
      tensor takes part.
    - `sweep_c11`: streams written are those of the parameter and of states.

    ```mlir
    updraft.sweep scalars(%k : f32)
        reads(%p, %g : !updraft.stream<f32>, !updraft.stream<f32>)
        writes(%p : !updraft.stream<f32>) {
    ^bb0(%s: f32, %pe: f32, %ge: f32):
      %d = arith.mulf %s, %ge : f32
      %n = arith.subf %pe, %d : f32
      updraft.store %n : f32
    }
    %norm2 = updraft.sweep reads(%g : !updraft.stream<f32>)
        reduces [#updraft.reduction<sum over tensor>] -> f64 {
    ^bb0(%ge: f32):
      %w = arith.extf %ge : f32 to f64
      %s = arith.mulf %w, %w : f64
      updraft.store reduce(%s)
    }
    ```
  }];
  let arguments = (ins DefaultValuedAttr<Updraft_ExtentAttr, "::updraft::Extent::element">:$over,
                       Variadic<Updraft_Scalar>:$scalars, Variadic<Updraft_StreamType>:$reads,
                       Variadic<Updraft_StreamType>:$writes,
                       DefaultValuedAttr<Updraft_Reductions, "{}">:$reductions,
                       Optional<I1>:$condition);
  let results = (outs Variadic<Updraft_SweepResult>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`when` `(` $condition^ `)`)?
    (`over` `` $over^)?
    (`scalars` `(` $scalars^ `:` type($scalars) `)`)?
    (`reads` `(` $reads^ `:` type($reads) `)`)?
    (`writes` `(` $writes^ `:` type($writes) `)`)?
    (`reduces` $reductions^)? (`->` type($results)^)?
    attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// The reductions, in order.
    auto getReductionRange() { return getReductions().getAsRange<ReductionAttr>(); }
    /// The results that are not reductions.
    ::mlir::ResultRange getTemporaries() {
      return getResults().drop_front(getReductions().size());
    }
    /// Whether the sweep loops over rows of a matrix instead of a flat sequence of elements. This is
    /// the case if it uses values of rows or columns or the identity, or reduces elements of a
    /// matrix.
    bool runsByRows();
    /// Whether the sweep is over rows or columns and loops over those of each batch. This is the
    /// case if it reads values of batches or reduces to them.
    bool runsByBatches();
  }];
  let hasRegionVerifier = 1;
}

// The type of a matrix of a sum: that of the result.
class Updraft_TermType<string matrix> : OptionalTypesMatchWith<
    "`" # matrix # "` has the type of the result", "result", matrix, "$_self">;

// The type of a factor of a sum: that of the result's elements.
class Updraft_ScaleType<string scale> : OptionalTypesMatchWith<
    "elements of the result have the type of `" # scale # "`", "result", scale,
    "::llvm::cast<StreamType>($_self).getStorage()">;

def Updraft_MultiplyOp : Updraft_Op<"multiply", [
    HasParent<"PlanOp">, AttrSizedOperandSegments, Updraft_OfWholeMatrices, Updraft_Stage,
    Updraft_TermType<"addend">, Updraft_TermType<"target">, Updraft_ScaleType<"scale">,
    Updraft_ScaleType<"addend_scale">, Updraft_ScaleType<"sum_scale">,
    Updraft_ScaleType<"target_scale">]> {
  let summary = "a product of two matrices in memory, or its sum with others";
  let description = [{
    Computes all elements of `updraft.product`. An operand that is `transposed` is read with rows
    and columns exchanged. The result is a temporary, which is not in the memory of an operand.

    With an addend, the result is `scale * product + addend_scale * addend`, where both products and
    the sum are rounded to the compute type. In a plan that is `fast`, it is
    `fma(addend_scale, addend, scale * product)`. A scale that is left out counts as 1.

    With a target, the operation also writes a stream of the plan: with the sum that would be the
    result otherwise, the target becomes `sum_scale * sum + target_scale * target`, rounded in the
    same way. The result is then memory for the time of the operation, which nothing reads.
    `updraft-fuse-epilogues` makes products with addends and targets.

    With `bf16` or `f16`, operands are rounded to this type where the target multiplies it, and the
    sums are in f32, in any order.

    Constraints:
    - `multiply_c1`: the plan has `matrix`. The operands and the result are streams of matrices in
      its compute type.
    - `multiply_c2`: there are as many columns of `lhs` as rows of `rhs`, and the result has the rows
      of `lhs` and the columns of `rhs`.
    - `multiply_c3`: the result of a `symmetric` product is square.
    - `multiply_c4`: the condition is a result of a prologue.
    - `multiply_c5`: a `bf16` or `f16` product is in a plan that is `fast`, with the compute type f32.
    - `multiply_c6`: the scales are results of prologues. A product has those of the addend only
      with an addend, and those of the target only with a target.
    - `multiply_c7`: the addend of a `symmetric` product is a symmetric matrix: a symmetric product, or
      a temporary that a sweep computes of symmetric matrices and of values per batch.
    - `multiply_c8`: the target is the stream of the parameter or of a state, and neither an operand
      nor the addend. The product isn't `symmetric`, and nothing uses its result.

    ```mlir
    %gram = updraft.multiply symmetric %x, %x transposed
        : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
    %y = updraft.multiply %gram, %x
        : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f32> -> !updraft.stream<f32>
    %z = updraft.multiply %gram, %x scale(%k) addend(%x)
        : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f32> -> !updraft.stream<f32>
    %partial = updraft.multiply %gram, %g sum_scale(%k) target(%x) target_scale(%k)
        : !updraft.stream<f32, rows_by_rows>, !updraft.stream<f32> -> !updraft.stream<f32>
    ```
  }];
  let arguments = (ins OptionalAttr<Updraft_OperandFormat>:$operand_format, UnitAttr:$symmetric,
                       Updraft_StreamType:$lhs, UnitAttr:$lhs_transposed, Updraft_StreamType:$rhs,
                       UnitAttr:$rhs_transposed, Optional<Updraft_Compute>:$scale,
                       Optional<Updraft_StreamType>:$addend,
                       Optional<Updraft_Compute>:$addend_scale,
                       Optional<Updraft_Compute>:$sum_scale, Optional<Updraft_StreamType>:$target,
                       Optional<Updraft_Compute>:$target_scale, Optional<I1>:$condition);
  let results = (outs Updraft_StreamType:$result);
  let assemblyFormat = [{
    (`when` `(` $condition^ `)`)? ($operand_format^)? (`symmetric` $symmetric^)?
    $lhs (`transposed` $lhs_transposed^)? `,` $rhs (`transposed` $rhs_transposed^)?
    (`scale` `(` $scale^ `)`)? (`addend` `(` $addend^ `)`)?
    (`addend_scale` `(` $addend_scale^ `)`)? (`sum_scale` `(` $sum_scale^ `)`)?
    (`target` `(` $target^ `)`)? (`target_scale` `(` $target_scale^ `)`)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Updraft_CallOp : Updraft_Op<"call", [
    HasParent<"PlanOp">, AttrSizedOperandSegments, Updraft_OfWholeMatrices, Updraft_Stage]> {
  let summary = "a call of a function of matrices in memory";
  let description = [{
    Computes all values of `updraft.apply`. The result is a temporary, which is not in the memory of
    an operand.

    Constraints:
    - `call_c1`: the plan has `matrix`. The operands and the result are streams in its compute type.
    - `call_c2`: the operands have the extents that the function takes, and the result has that of
      its values; see `updraft.apply`.
    - `call_c3`: the condition is a result of a prologue.

    ```mlir
    %gram = updraft.multiply symmetric %x, %x transposed
        : !updraft.stream<f32>, !updraft.stream<f32> -> !updraft.stream<f32, rows_by_rows>
    %l = updraft.call eigenvalues(%gram)
        : (!updraft.stream<f32, rows_by_rows>) -> !updraft.stream<f32, row>
    ```
  }];
  let arguments = (ins Updraft_MatrixFunctionAttr:$function, Variadic<Updraft_StreamType>:$inputs,
                       Optional<I1>:$condition);
  let results = (outs Updraft_StreamType:$result);
  let assemblyFormat = [{
    (`when` `(` $condition^ `)`)? `` $function `(` $inputs `)` attr-dict
    `:` functional-type($inputs, $result)
  }];
  let extraClassDeclaration = [{
    /// Whether the host computes it for GPUs, which have a kernel only for transposes.
    bool isOfHost() { return getFunction() != MatrixFunction::transpose; }
  }];
  let hasVerifier = 1;
}

def Updraft_StoreOp : Updraft_Op<"store", [
    Terminator, HasParent<"SweepOp">, AttrSizedOperandSegments]> {
  let summary = "the results of a sweep";
  let description = [{
    One value per stream written, in their order, rounded to the stream's storage type; one f64 per
    reduction; one value per temporary.

    ```mlir
    updraft.store %n : f32 reduce(%square) make(%r : f32)
    ```
  }];
  let arguments = (ins Variadic<Updraft_Compute>:$values, Variadic<F64>:$reduced,
                       Variadic<Updraft_Compute>:$made);
  let assemblyFormat = [{
    ($values^ `:` type($values))? (`reduce` `(` $reduced^ `)`)?
    (`make` `(` $made^ `:` type($made) `)`)? attr-dict
  }];
}

#endif // UPDRAFT_IR_PLAN_OPS_TD
