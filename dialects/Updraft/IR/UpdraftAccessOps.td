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

    Two values of this type that a loop accesses with the same numbers are either the same memory,
    number for number, or disjoint, as far as the loop accesses them. Iterations that access
    different numbers are therefore independent. This follows from the same rule for the streams of
    a plan.

    Constraints:
    - `elementstype_c1`: `element` is a floating-point or a signless integer type of whole bytes.

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
}

def Updraft_LocateOp : Updraft_Op<"locate", [MemoryEffects<[MemRead]>]> {
  let summary = "the elements of a stream";
  let description = [{
    Loads entry `index` of `table`, an array of addresses: the entries of one tensor in the
    `streams` of updraft-c/kernel.h.

    ```mlir
    %p = updraft.locate %table[0] : !llvm.ptr -> !updraft.elements<f32>
    ```
  }];
  let arguments = (ins AnyType:$table, I32Attr:$index);
  let results = (outs Updraft_ElementsType:$elements);
  let assemblyFormat = "$table `[` $index `]` attr-dict `:` type($table) `->` type($elements)";
}

def Updraft_ScratchOp : Updraft_Op<"scratch"> {
  let summary = "memory of a function";
  let description = [{
    Allocates `count` elements on the stack, at an address that is a multiple of 64 bytes, until the
    function returns. The elements are uninitialized.

    ```mlir
    %kept = updraft.scratch 512 : !updraft.elements<f32>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$count);
  let results = (outs Res<Updraft_ElementsType, "", [MemAlloc]>:$elements);
  let assemblyFormat = "$count attr-dict `:` type($elements)";
}

def Updraft_ShiftOp : Updraft_Op<"shift", [
    Pure, AllTypesMatch<["elements", "shifted"]>]> {
  let summary = "elements with other numbers";
  let description = [{
    Element 0 of the result is element `offset` of `elements`. With `outside`, the elements that the
    function accesses don't have to include element 0 of the result.

    ```mlir
    %row = updraft.shift %e[%start] : !updraft.elements<f32>, i64
    ```
  }];
  let arguments = (ins Updraft_ElementsType:$elements, AnySignlessInteger:$offset,
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
  code accessDeclaration = [{
    /// The scalar type of the values.
    ::mlir::Type getElementType() { return getElements().getType().getElement(); }
  }];
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
    - `read_c4`: `alignment` is a power of two.

    ```mlir
    %x = updraft.read %e[%start, %i] : !updraft.elements<f32>, i64, i64 -> vector<8xf32>
    %y = updraft.read %e[%i] mask %m alignment 16
        : !updraft.elements<f32>, i64, vector<8xi1> -> vector<8xf32>
    ```
  }];
  let arguments = (ins Arg<Updraft_ElementsType, "", [MemRead]>:$elements,
                       Variadic<AnySignlessInteger>:$indices,
                       Optional<VectorOfRankAndType<[1], [I1]>>:$mask,
                       OptionalAttr<I64Attr>:$alignment);
  let results = (outs AnyType:$values);
  let builders = [OpBuilder<(ins "::mlir::Type":$values, "::mlir::Value":$elements,
                                 "::mlir::ValueRange":$indices, CArg<"::mlir::Value", "{}">:$mask,
                                 CArg<"unsigned", "0">:$alignment), [{
    build($_builder, $_state, values, elements, indices, mask,
          alignment ? $_builder.getI64IntegerAttr(alignment) : ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    $elements `[` $indices `]` (`mask` $mask^)? (`alignment` $alignment^)? attr-dict
    `:` type(operands) `->` type($values)
  }];
  let extraClassDeclaration = accessDeclaration;
  let hasVerifier = 1;
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
    - `write_c4`: `alignment` is a power of two.

    ```mlir
    updraft.write %x, %e[%i] : vector<8xf32>, !updraft.elements<f32>, i64
    ```
  }];
  let arguments = (ins AnyType:$values, Arg<Updraft_ElementsType, "", [MemWrite]>:$elements,
                       Variadic<AnySignlessInteger>:$indices,
                       Optional<VectorOfRankAndType<[1], [I1]>>:$mask,
                       OptionalAttr<I64Attr>:$alignment);
  let builders = [OpBuilder<(ins "::mlir::Value":$values, "::mlir::Value":$elements,
                                 "::mlir::ValueRange":$indices, CArg<"::mlir::Value", "{}">:$mask,
                                 CArg<"unsigned", "0">:$alignment), [{
    build($_builder, $_state, values, elements, indices, mask,
          alignment ? $_builder.getI64IntegerAttr(alignment) : ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    $values `,` $elements `[` $indices `]` (`mask` $mask^)? (`alignment` $alignment^)? attr-dict
    `:` type(operands)
  }];
  let extraClassDeclaration = accessDeclaration;
  let hasVerifier = 1;
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
  let arguments = (ins Updraft_ElementsType:$elements, Variadic<AnySignlessInteger>:$indices);
  let assemblyFormat = "$elements `[` $indices `]` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

#endif // UPDRAFT_IR_ACCESS_OPS_TD
