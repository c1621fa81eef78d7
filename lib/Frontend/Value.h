//===- Value.h - What an expression evaluates to at import ------------------*- C++ -*-===//
// Import is partial evaluation: an expression of constants and static flags is a constant here, and
// anything else a value in the IR.

#ifndef UPDRAFT_LIB_FRONTEND_VALUE_H
#define UPDRAFT_LIB_FRONTEND_VALUE_H

#include "Type.h"

#include "mlir/IR/Value.h"

#include <cmath>

namespace updraft {

struct State;

struct Value {
  Kind kind = Kind::Unknown; ///< Unknown after an error
  Extent extent = Extent::Static;
  bool isInteger = false; ///< of a number in the IR: it has integer values only
  bool boolean = false;
  double number = 0;
  llvm::StringRef string;
  mlir::Value ir;                ///< null for a constant
  const State *absent = nullptr; ///< the state that this name stands for, and that was dropped

  bool isError() const { return kind == Kind::Unknown; }
  bool isConstant() const { return kind != Kind::Unknown && !ir; }
  bool isTensor() const { return extent == Extent::Element; }
  Type type() const { return {kind, extent}; }
  /// A number whose values are integers that f64 holds exactly.
  bool isIntegral() const {
    return ir ? isInteger : std::floor(number) == number && std::fabs(number) < 0x1p53;
  }

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
