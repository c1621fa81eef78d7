//===- UpdraftAccessOps.td - Accesses of a sweep to memory ---------------------*- tablegen -*-===//
// The loops of a sweep access streams with these operations until the conversion to LLVM.

#ifndef UPDRAFT_IR_ACCESS_OPS_TD
#define UPDRAFT_IR_ACCESS_OPS_TD

include "Updraft/IR/UpdraftBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Updraft_ElementsType : Updraft_Type<"Elements", "elements"> {
  let summary = "elements in memory";
  let description = [{
    The memory of one stream of one tensor, or scratch memory of a function. Its elements are
    consecutive and are numbered from 0. bf16 elements are stored as `i16`. `space` is the address
    space of an LLVM pointer: 0 on a CPU, 1 in the global memory of a GPU.

    Two rules hold for every loop, as far as it accesses the memory:

    - Two values of this type are the same memory, accessed with the same numbers in each iteration,
      or they are disjoint.
    - An iteration writes an element at most once.

    Iterations that access different numbers of each value are therefore independent. The rules
    follow from that for the streams of a plan: they are identical, or they don't overlap.

    Constraints:
    - `elementstype_c1`: `element` is `f16`, `bf16`, `f32`, `f64`, `i8`, `i16`, `i32` or `i64`.

    ```mlir
    !updraft.elements<f32>
    ```
  }];
  let parameters = (ins "::mlir::Type":$element, DefaultValuedParameter<"unsigned", "0">:$space);
  let assemblyFormat = "`<` $element (`,` $space^)? `>`";
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$element, CArg<"unsigned", "0">:$space), [{
    return $_get(element.getContext(), element, space);
  }]>];
  let skipDefaultBuilders = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether memory can have elements of the type.
    static bool isElement(::mlir::Type type);
  }];
}

def Updraft_Table : Type<CPred<"::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self)">, "LLVM pointer">;
// Signed numbers of elements.
def Updraft_Index : AnyTypeOf<[I32, I64], "i32 or i64">;
def Updraft_Mask : FixedVectorOfRankAndType<[1], [I1]>;
def Updraft_Alignment : ConfinedAttr<I32Attr, [IntPositivePowerOf2]>;

def Updraft_LocateOp : Updraft_Op<"locate", [MemoryEffects<[MemRead]>]> {
  let summary = "loads the address of a stream's elements";
  let description = [{
    Loads entry `index` of `table`, an array of addresses: the entries of one tensor in the
    `streams` of updraft-c/kernel.h.

    ```mlir
    %p = updraft.locate %table[0] : !llvm.ptr -> !updraft.elements<f32>
    ```
  }];
  let arguments = (ins Updraft_Table:$table, ConfinedAttr<I32Attr, [IntNonNegative]>:$index);
  let results = (outs Updraft_ElementsType:$elements);
  let assemblyFormat = "$table `[` $index `]` attr-dict `:` type($table) `->` type($elements)";
}

def Updraft_ScratchOp : Updraft_Op<"scratch"> {
  let summary = "allocates elements on the stack";
  let description = [{
    The `count` elements exist until the function returns, and are initially undefined. Their
    address is a multiple of 64 bytes.

    Constraints:
    - `scratch_c1`: the elements are in space 0.
    - `scratch_c2`: the operation is directly in a function, so it runs once.

    ```mlir
    %kept = updraft.scratch 512 : !updraft.elements<f32>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$count);
  let results = (outs Res<Updraft_ElementsType, "",
                          [MemAlloc<AutomaticAllocationScopeResource>]>:$elements);
  let assemblyFormat = "$count attr-dict `:` type($elements)";
  let hasVerifier = 1;
}

def Updraft_ShiftOp : Updraft_Op<"shift", [
    Pure, AllTypesMatch<["elements", "shifted"]>]> {
  let summary = "renumbers elements from an offset";
  let description = [{
    Element 0 of the result is element `offset` of `elements`. With `outside`, the elements that the
    function accesses don't have to include element 0 of the result.

    ```mlir
    %row = updraft.shift %e[%start] : !updraft.elements<f32>, i64
    ```
  }];
  let arguments = (ins Updraft_ElementsType:$elements, Updraft_Index:$offset,
                       UnitAttr:$outside);
  let results = (outs Updraft_ElementsType:$shifted);
  let builders = [OpBuilder<(ins "::mlir::Value":$elements, "::mlir::Value":$offset,
                                 CArg<"bool", "false">:$outside), [{
    build($_builder, $_state, elements.getType(), elements, offset, outside);
  }]>];
  let assemblyFormat = [{
    $elements `[` $offset `]` (`outside` $outside^)? attr-dict `:` type($elements) `,` type($offset)
  }];
}

class Updraft_AccessOp<string mnemonic> : Updraft_Op<mnemonic, [AttrSizedOperandSegments]> {
  let extraClassDeclaration = [{
    /// The scalar type of the values.
    ::mlir::Type getElementType() { return getElements().getType().getElement(); }
  }];
  let hasVerifier = 1;
}

def Updraft_ReadOp : Updraft_AccessOp<"read"> {
  let summary = "loads consecutive elements";
  let description = [{
    Loads one element, or a vector of consecutive elements. The number of the first one is the sum
    of the indices. Lanes that are not in `mask` are not loaded, and are zero.

    `alignment` is a number of bytes that divides the address. Without it, this is the size of an
    element.

    Constraints:
    - `read_c1`: the result is an element or a vector of elements.
    - `read_c2`: there is at least one index, and all have one type.
    - `read_c3`: `mask` has one lane for each lane of a vector.

    ```mlir
    %x = updraft.read %e[%start, %i] : !updraft.elements<f32>, i64, i64 -> vector<8xf32>
    %y = updraft.read %e[%i] mask %m alignment 16
        : !updraft.elements<f32>, i64, vector<8xi1> -> vector<8xf32>
    ```
  }];
  let arguments = (ins Arg<Updraft_ElementsType, "", [MemRead]>:$elements,
                       Variadic<Updraft_Index>:$indices,
                       Optional<Updraft_Mask>:$mask,
                       OptionalAttr<Updraft_Alignment>:$alignment);
  let results = (outs AnyType:$values);
  let builders = [OpBuilder<(ins "::mlir::Type":$values, "::mlir::Value":$elements,
                                 "::mlir::ValueRange":$indices, CArg<"::mlir::Value", "{}">:$mask,
                                 CArg<"unsigned", "0">:$alignment), [{
    build($_builder, $_state, values, elements, indices, mask,
          alignment ? $_builder.getI32IntegerAttr(static_cast<int32_t>(alignment)) : ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    $elements `[` $indices `]` (`mask` $mask^)? (`alignment` $alignment^)? attr-dict
    `:` type(operands) `->` type($values)
  }];
}

def Updraft_WriteOp : Updraft_AccessOp<"write"> {
  let summary = "stores consecutive elements";
  let description = [{
    Stores one element, or a vector of consecutive elements. The indices, `mask` and `alignment` are
    those of `updraft.read`. Lanes that are not in `mask` are not stored.

    Constraints:
    - `write_c1`: `values` is an element or a vector of elements.
    - `write_c2`: there is at least one index, and all have one type.
    - `write_c3`: `mask` has one lane for each lane of a vector.

    ```mlir
    updraft.write %x, %e[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    ```
  }];
  let arguments = (ins AnyType:$values, Arg<Updraft_ElementsType, "", [MemWrite]>:$elements,
                       Variadic<Updraft_Index>:$indices,
                       Optional<Updraft_Mask>:$mask,
                       OptionalAttr<Updraft_Alignment>:$alignment);
  let builders = [OpBuilder<(ins "::mlir::Value":$values, "::mlir::Value":$elements,
                                 "::mlir::ValueRange":$indices, CArg<"::mlir::Value", "{}">:$mask,
                                 CArg<"unsigned", "0">:$alignment), [{
    build($_builder, $_state, values, elements, indices, mask,
          alignment ? $_builder.getI32IntegerAttr(static_cast<int32_t>(alignment)) : ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    $values `,` $elements `[` $indices `]` (`mask` $mask^)? (`alignment` $alignment^)? attr-dict
    `:` type(operands)
  }];
}

def Updraft_PrefetchOp : Updraft_Op<"prefetch"> {
  let summary = "brings an element to the cache";
  let description = [{
    Prefetches the cache line of an element for reading, to all caches. The number of the element is
    the sum of the indices; it may lie outside of the memory.

    Constraints:
    - `prefetch_c1`: there is at least one index, and all have one type.

    ```mlir
    updraft.prefetch %e[%i] : !updraft.elements<f32>, i64
    ```
  }];
  let arguments = (ins Updraft_ElementsType:$elements, Variadic<Updraft_Index>:$indices);
  let assemblyFormat = "$elements `[` $indices `]` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

#endif // UPDRAFT_IR_ACCESS_OPS_TD
