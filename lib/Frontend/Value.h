//===- Value.h - The value of an expression at import -------------------------------*- C++ -*-===//
// Import is partial evaluation: an expression of constants and static flags evaluates to a
// constant, any other expression to a value in the IR.

#ifndef UPDRAFT_LIB_FRONTEND_VALUE_H
#define UPDRAFT_LIB_FRONTEND_VALUE_H

#include "StaticList.h"
#include "Type.h"

#include "mlir/IR/Value.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace updraft {

struct State;

struct Value {
  Kind kind = Kind::Unknown; ///< Unknown after an error
  Extent extent = Extent::model;
  bool isInteger = false; ///< for a number in the IR: all its values are integers
  /// For a number in the IR: a bound on its magnitude. If the bound is finite, the number is not
  /// NaN.
  double bound = std::numeric_limits<double>::infinity();
  bool boolean = false;
  double number = 0;
  llvm::StringRef string;
  std::shared_ptr<const StaticList> list; ///< of a histogram: its bounds
  /// The counts of a histogram: one more than there are bounds.
  std::shared_ptr<const std::vector<Value>> counts;
  mlir::Value ir; ///< null for a constant
  /// For a number: whether it is the number of rows, or of columns, of the parameter.
  enum class Side : uint8_t { None, Rows, Columns } side = Side::None;
  /// For a comparison of rows with columns: the shapes for which it holds.
  std::optional<MatrixShapes> holdsFor;
  const State *absent = nullptr; ///< the state that this name refers to, if it was dropped

  bool isError() const { return kind == Kind::Unknown; }
  bool isConstant() const { return kind != Kind::Unknown && !ir; }
  bool isTensor() const { return isTensorExtent(extent); }
  Type type() const { return {kind, extent, kind == Kind::List ? list->width : 0}; }
  double magnitude() const { return ir ? bound : std::fabs(number); }
  bool hasIntegerValues() const { return ir ? isInteger : std::floor(number) == number; }
  /// Whether the number is an integer that fits an i64 for all inputs.
  bool fitsInteger() const { return hasIntegerValues() && magnitude() <= 0x1p62; }

  static Value ofNumber(double number) {
    Value value;
    value.kind = Kind::Number;
    value.number = number;
    return value;
  }
  static Value ofBool(bool boolean) {
    Value value;
    value.kind = Kind::Bool;
    value.boolean = boolean;
    return value;
  }
  static Value ofString(llvm::StringRef string) {
    Value value;
    value.kind = Kind::String;
    value.string = string;
    return value;
  }
  static Value ofList(StaticList list) {
    Value value;
    value.kind = Kind::List;
    value.list = std::make_shared<const StaticList>(std::move(list));
    return value;
  }
  static Value ofHistogram(std::shared_ptr<const StaticList> bounds, std::vector<Value> counts) {
    Value value;
    value.kind = Kind::Histogram;
    value.extent = Extent::tensor;
    value.list = std::move(bounds);
    value.counts = std::make_shared<const std::vector<Value>>(std::move(counts));
    return value;
  }
  static Value ofIr(Kind kind, Extent extent, mlir::Value ir) {
    Value value;
    value.kind = kind;
    value.extent = extent;
    value.ir = ir;
    return value;
  }
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_VALUE_H
