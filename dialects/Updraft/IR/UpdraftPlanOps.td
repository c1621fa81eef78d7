//===- UpdraftPlanOps.td - A plan: host functions and passes -------------------*- tablegen -*-===//
// Operations of the plan level: a scheduled rule, the common start of every target's lowering.

#ifndef UPDRAFT_IR_PLAN_OPS_TD
#define UPDRAFT_IR_PLAN_OPS_TD

include "Updraft/IR/UpdraftBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Updraft_PlanOp : Updraft_Op<"plan", [
    Symbol, IsolatedFromAbove, NoRegionArguments, NoTerminator, SingleBlock]> {
  let summary = "a scheduled rule";
  let description = [{
    The interface of the rule (`updraft.hyper` and `updraft.stream`, in the order of the kernel's
    arguments), its host functions (`updraft.initial`, `updraft.validate`, `updraft.prologue`) and
    its passes over data, in the order in which they run.

    The first stream is `param`, the second `grad`, then the states in the order of declaration. A
    plan whose rule changes nothing has no pass.

    Constraints:
    - `plan_c1`: the body has only `updraft.hyper`, `updraft.step`, `updraft.first`,
      `updraft.stream`, host functions and passes.
    - `plan_c2`: the first two streams are `param` and `grad`; names of streams are unique, and so
      are names of hyperparameters.
    - `plan_c3`: there are exactly one `updraft.initial` and one `updraft.validate`.

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
      updraft.pass scalars(%k : f32)
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
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Updraft_Compute>:$compute);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `compute` $compute attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Updraft_StreamOp : Updraft_Op<"stream", [HasParent<"PlanOp">, Updraft_NamedResult]> {
  let summary = "one tensor of the step";
  let description = [{
    The parameter, its gradient or a state, as a pass reads and writes it. Streams of a plan that
    are the same tensor may be equal; others do not overlap.

    ```mlir
    %m = updraft.stream "exp_avg" : !updraft.stream<f32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Updraft_StreamType:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
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
    Yields one f64 per state, in the order of their streams; it is rounded to the state's storage
    type.

    Constraints:
    - `initial_c1`: block arguments match the operands; one f64 is yielded per state stream.
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
    Yields one i1 per message; the first that is false refuses the hyperparameters with its message,
    in which `{name}` stands for the value of a hyperparameter, `{{` and `}}` for braces.

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
    Evaluated once per distinct (group, step, first) before the passes; its results are the scalar
    operands of the passes. What it computes, it computes as the rule says: mostly in f64, and what
    passes use is rounded to the compute type here.

    Constraints:
    - `prologue_c1`: block arguments match the operands; yielded values match the results.
    - `prologue_c2`: every operation of the body is from `arith`, `math` or `scf`.

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

def Updraft_PassOp : Updraft_Op<"pass", [
    HasParent<"PlanOp">, AttrSizedOperandSegments,
    IsolatedFromAbove, SingleBlock, Updraft_NamedArguments]> {
  let summary = "one pass over data";
  let description = [{
    Runs its body for every element. Block arguments are the scalars, then one element, in the
    compute type, per stream read. `updraft.store` gives one element per stream written. The streams
    may overlap only where they are the same: an element is read before it is written.

    Constraints:
    - `pass_c1`: block arguments match the scalars and the streams read.
    - `pass_c2`: one stored value per stream written, of the compute type.
    - `pass_c3`: no stream is read twice or written twice.
    - `pass_c4`: every operation of the body is from `arith` or `math`, and its values, constants
      apart, have the compute type or are i1.
    - `pass_c5`: the scalars are results of prologues, of the compute type or i1.

    ```mlir
    updraft.pass scalars(%k : f32)
        reads(%p, %g : !updraft.stream<f32>, !updraft.stream<f32>)
        writes(%p : !updraft.stream<f32>) {
    ^bb0(%s: f32, %pe: f32, %ge: f32):
      %d = arith.mulf %s, %ge : f32
      %n = arith.subf %pe, %d : f32
      updraft.store %n : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Updraft_Scalar>:$scalars, Variadic<Updraft_StreamType>:$reads,
                       Variadic<Updraft_StreamType>:$writes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`scalars` `(` $scalars^ `:` type($scalars) `)`)?
    (`reads` `(` $reads^ `:` type($reads) `)`)?
    (`writes` `(` $writes^ `:` type($writes) `)`)?
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Updraft_StoreOp : Updraft_Op<"store", [Terminator, HasParent<"PassOp">]> {
  let summary = "the elements that a pass writes";
  let description = [{
    One value per stream written, in their order; it is rounded to the stream's storage type.

    ```mlir
    updraft.store %n : f32
    ```
  }];
  let arguments = (ins Variadic<Updraft_Compute>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // UPDRAFT_IR_PLAN_OPS_TD
