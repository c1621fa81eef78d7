//===- Type.h - The type of an expression -------------------------------------------*- C++ -*-===//
// A type is a kind and an extent: the domain over which the value varies, which grows along
// operands. `model` values are known when the rule is compiled. `group` values depend on
// hyperparameters, and `tensor` values on the step or the whole parameter; all of these are
// scalars. A value that differs within a parameter, from row to row or from element to element, is
// a tensor.

#ifndef UPDRAFT_LIB_FRONTEND_TYPE_H
#define UPDRAFT_LIB_FRONTEND_TYPE_H

#include "updraft/Frontend/Ast.h"

#include "Updraft/IR/UpdraftEnums.h"

#include "llvm/ADT/StringSwitch.h"

namespace updraft {

enum class Kind : uint8_t {
  Unknown, ///< an argument of a function that is checked on its own, or the result of an error
  Number,
  Bool,
  String,
  List,      ///< of numbers or tuples of numbers, known when the rule is compiled
  Histogram, ///< counts of the elements between static bounds, which only a probe takes
};

inline bool isTensorExtent(Extent extent) { return !isWithin(extent, Extent::tensor); }

struct Type {
  Kind kind = Kind::Unknown;
  Extent extent = Extent::model;
  unsigned width = 0; ///< of a list: the parts of an element

  bool isUnknown() const { return kind == Kind::Unknown; }
  bool is(Kind other) const { return isUnknown() || kind == other; }
  bool isTensor() const { return isTensorExtent(extent); }
};

/// "a tensor", "a scalar", "a value per row", "a bool", …
inline llvm::StringRef describe(Type type) {
  switch (type.kind) {
  case Kind::Unknown:
    return "a value";
  case Kind::Number:
    return type.extent == Extent::row                  ? "a value per row"
           : type.extent == Extent::column             ? "a value per column"
           : type.extent == Extent::batch              ? "a value per batch"
           : type.extent == Extent::rows_by_rows       ? "a matrix of rows x rows"
           : type.extent == Extent::columns_by_columns ? "a matrix of columns x columns"
           : type.extent == Extent::transposed         ? "a matrix of columns x rows"
           : type.extent == Extent::chosen_by_columns  ? "a matrix of chosen rows x columns"
           : type.extent == Extent::rows_by_chosen     ? "a matrix of rows x chosen columns"
           : type.extent == Extent::columns_by_chosen  ? "a matrix of columns x chosen rows"
           : type.extent == Extent::chosen_by_rows     ? "a matrix of chosen columns x rows"
           : type.extent == Extent::chosen_by_chosen   ? "a matrix of chosen x chosen"
           : type.isTensor()                           ? "a tensor"
                                                       : "a scalar";
  case Kind::Bool:
    return type.extent == Extent::row      ? "a bool per row"
           : type.extent == Extent::column ? "a bool per column"
           : type.extent == Extent::batch  ? "a bool per batch"
           : type.isTensor()               ? "a bool tensor"
                                           : "a bool";
  case Kind::String:
    return "a string";
  case Kind::List:
    return type.width == 1   ? "a list of numbers"
           : type.width == 2 ? "a list of pairs"
           : type.width == 3 ? "a list of triples"
           : type.width == 0 ? "a list"
                             : "a list of tuples";
  case Kind::Histogram:
    return "a histogram";
  }
  return "";
}

/// Returns the extent over which a state has one value.
inline Extent extentOf(const State &state) {
  return llvm::StringSwitch<Extent>(state.over ? state.over->text : "")
      .Case("group", Extent::group)
      .Case("tensor", Extent::tensor)
      .Case("row", Extent::row)
      .Case("column", Extent::column)
      .Case("(row, row)", Extent::rows_by_rows)
      .Case("(column, column)", Extent::columns_by_columns)
      .Default(Extent::element);
}

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_TYPE_H
