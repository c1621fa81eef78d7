//===- UpdraftInterfaces.td - Interfaces and traits of operations --------------*- tablegen -*-===//

#ifndef UPDRAFT_IR_INTERFACES_TD
#define UPDRAFT_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Updraft_InferExtent : OpInterface<"InferExtentOpInterface"> {
  let description = [{
    An operation of a rule whose result has another extent than the least one that contains those of
    its operands.
  }];
  let cppNamespace = "::updraft";
  let methods = [InterfaceMethod<
      "Returns the extent of the result. `of` returns that of an operand.",
      "::updraft::Extent", "inferExtent",
      (ins "::llvm::function_ref<::updraft::Extent(::mlir::Value)>":$of)>];
}

def Updraft_TensorInput : OpInterface<"TensorInputOpInterface"> {
  let description = [{
    The parameter, the gradient or a state: an input of a rule that is in memory.
  }];
  let cppNamespace = "::updraft";
  let methods = [
    InterfaceMethod<"Returns `param`, `grad` or the state's name.", "::llvm::StringRef",
                    "getTensorName">,
    InterfaceMethod<"Returns the type in memory.", "::mlir::Type", "getStorage">
  ];
}

def Updraft_Stage : OpInterface<"StageOpInterface"> {
  let description = [{
    An operation of a plan that runs over streams: a sweep, a product or a call. Its operands
    include the streams that it reads and writes. Its results are the streams and reductions that it
    makes.
  }];
  let cppNamespace = "::updraft";
  let methods = [InterfaceMethod<
      "Returns the flag without which a step leaves the stage out, or null.", "::mlir::Value",
      "getCondition">];
}

// An operation that says which extent its result has.
def Updraft_WithExtent : DeclareOpInterfaceMethods<Updraft_InferExtent>;

// An operation that needs whole matrices in memory, so no sweep can do it.
def Updraft_OfWholeMatrices : NativeOpTrait<"OfWholeMatrices"> {
  let cppNamespace = "::updraft";
}

#endif // UPDRAFT_IR_INTERFACES_TD
