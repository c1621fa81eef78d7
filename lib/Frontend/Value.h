//===- Value.h - What an expression evaluates to at import --------------------------*- C++ -*-===//
// Import is partial evaluation: an expression of constants and static flags is a constant here, and
// anything else a value in the IR.

#ifndef UPDRAFT_LIB_FRONTEND_VALUE_H
#define UPDRAFT_LIB_FRONTEND_VALUE_H

#include "Type.h"

#include "mlir/IR/Value.h"

#include <cmath>
#include <limits>

namespace updraft {

struct State;

struct Value {
  Kind kind = Kind::Unknown; ///< Unknown after an error
  Extent extent = Extent::model;
  bool isInteger = false; ///< of a number in the IR: it has integer values only
  /// Of a number in the IR: its magnitude is at most this, and it is not NaN if this is finite.
  double bound = std::numeric_limits<double>::infinity();
  bool boolean = false;
  double number = 0;
  llvm::StringRef string;
  mlir::Value ir;                ///< null for a constant
  const State *absent = nullptr; ///< the state that this name stands for, and that was dropped

  bool isError() const { return kind == Kind::Unknown; }
  bool isConstant() const { return kind != Kind::Unknown && !ir; }
  bool isTensor() const { return isTensorExtent(extent); }
  Type type() const { return {kind, extent}; }
  double magnitude() const { return ir ? bound : std::fabs(number); }
  bool hasIntegerValues() const { return ir ? isInteger : std::floor(number) == number; }
  /// Whether the number is an integer that fits an i64, whatever the inputs.
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
