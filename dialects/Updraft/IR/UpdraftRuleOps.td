//===- UpdraftRuleOps.td - A rule: one element's update ------------------*- tablegen -*-===//
// Operations of the rule level: what the frontend makes, what the reference interpreter runs, and
// what the scheduler turns into a plan.

#ifndef UPDRAFT_IR_RULE_OPS_TD
#define UPDRAFT_IR_RULE_OPS_TD

include "Updraft/IR/UpdraftBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Updraft_RuleOp : Updraft_Op<"rule", [
    Symbol, IsolatedFromAbove, NoRegionArguments,
    SingleBlock]> {
  let summary = "an optimizer update rule";
  let description = [{
    The update of one element of a parameter: from (param, grad, state, hyperparameters, step) to the
    next (param, state). The body is one block of `arith` and `math` on scalars.

    Every value has an *extent*, what it is spread over: `model`, `group`, `tensor` or `element`. An
    operation has the largest extent of its operands; `updraft.hyper` has `group`, `updraft.step` and
    `updraft.first` have `tensor`, `updraft.param`, `updraft.grad` and `updraft.state` have `element`.
    Values below `element` are scalars, computed in f64 once per step; element values are computed in
    `compute`. A scalar becomes an operand of element arithmetic by `arith.truncf` (f32) or as it is
    (f64).

    Constraints:
    - `rule_c1`: floating-point element values have the compute type.
    - `rule_c2`: exactly one `updraft.param` and one `updraft.grad`; names of hyperparameters and
      states are unique.
    - `rule_c3`: every operation is from `arith`, `math` or this dialect.

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
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$compute);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `compute` $compute attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

class Updraft_RuleInput<string mnemonic, list<Trait> traits = []>
    : Updraft_Op<mnemonic, !listconcat(traits, [ParentOneOf<["RuleOp", "PlanOp"]>])>;

// The operations below are the rule's interface, so they are not Pure: an unused hyperparameter is
// still a hyperparameter.

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

def Updraft_StepOp : Updraft_RuleInput<"step"> {
  let summary = "the step count of the parameter, this step included";
  let description = [{
    1 at a parameter's first step. An integer, exactly represented in f64.

    ```mlir
    %t = updraft.step
    ```
  }];
  let results = (outs F64:$result);
  let assemblyFormat = "attr-dict";
}

def Updraft_FirstOp : Updraft_RuleInput<"first"> {
  let summary = "whether the parameter had no state before this step";
  let description = [{
    ```mlir
    %first = updraft.first
    ```
  }];
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

class Updraft_ElementInput<string mnemonic> : Updraft_Op<mnemonic, [HasParent<"RuleOp">]> {
  let results = (outs Updraft_Compute:$result);
}

def Updraft_ParamOp : Updraft_ElementInput<"param"> {
  let summary = "the parameter's element, before the step";
  let description = [{
    ```mlir
    %p = updraft.param stored bf16 : f32
    ```
  }];
  let arguments = (ins TypeAttr:$storage);
  let assemblyFormat = "`stored` $storage attr-dict `:` type($result)";
}

def Updraft_GradOp : Updraft_ElementInput<"grad"> {
  let summary = "the gradient's element";
  let description = [{
    ```mlir
    %g = updraft.grad stored f32 : f32
    ```
  }];
  let arguments = (ins TypeAttr:$storage);
  let assemblyFormat = "`stored` $storage attr-dict `:` type($result)";
}

def Updraft_StateOp : Updraft_ElementInput<"state"> {
  let summary = "a state's element, before the step";
  let description = [{
    A tensor of the parameter's shape that persists from step to step. `initial` is its value where it
    does not exist yet: a scalar that depends on hyperparameters alone.

    Constraints:
    - `state_c1`: `initial` has at most the extent `group`.

    ```mlir
    %m = updraft.state "exp_avg" stored f32 initial %zero : f32
    ```
  }];
  let arguments = (ins StrAttr:$name, TypeAttr:$storage, F64:$initial);
  let assemblyFormat = "$name `stored` $storage `initial` $initial attr-dict `:` type($result)";
}

def Updraft_RequireOp : Updraft_Op<"require", [HasParent<"RuleOp">]> {
  let summary = "a condition on the hyperparameters";
  let description = [{
    The runtime checks it whenever a hyperparameter is set, and refuses the value with the message;
    `{name}` in it stands for the value of a hyperparameter, `{{` and `}}` for braces.

    Constraints:
    - `require_c1`: the condition has at most the extent `group`.

    ```mlir
    updraft.require %ok, "Invalid learning rate: {lr}"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

def Updraft_NextOp : Updraft_Op<"next", [Terminator, HasParent<"RuleOp">]> {
  let summary = "the next parameter and states";
  let description = [{
    The value of the parameter after the step, then one value per `updraft.state`, in their order. A
    state that keeps its value is passed through.

    Constraints:
    - `next_c1`: one operand for the parameter and one per state.

    ```mlir
    updraft.next %p1, %m1, %v1 : f32, f32, f32
    ```
  }];
  let arguments = (ins Updraft_Compute:$param, Variadic<Updraft_Compute>:$states);
  let assemblyFormat = [{
    $param (`,` $states^)? attr-dict `:` type($param) (`,` type($states)^)?
  }];
}

#endif // UPDRAFT_IR_RULE_OPS_TD
