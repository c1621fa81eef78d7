//===- Scalar.h - Operations written as formulas ------------------------------------*- C++ -*-===//
// Handles to values of one scalar, with C++ operators that create operations, so the expansion of a
// function reads like its formula.

#ifndef UPDRAFT_TRANSFORMS_MATH_SCALAR_H
#define UPDRAFT_TRANSFORMS_MATH_SCALAR_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace updraft::expansion {

/// Creates the operations of one expansion, and each constant once.
class ScalarBuilder {
public:
  ScalarBuilder(mlir::Location loc, mlir::Operation *before) : builder(loc, before) {}

  template <typename Op, typename... Args> mlir::Value create(Args &&...args) {
    return Op::create(builder, std::forward<Args>(args)...);
  }
  mlir::Value constant(mlir::TypedAttr value) {
    mlir::Value &made = constants[value];
    if (!made)
      made = create<mlir::arith::ConstantOp>(value);
    return made;
  }

  mlir::ImplicitLocOpBuilder builder;

private:
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
};

/// Properties of a floating-point type.
struct FloatFormat {
  mlir::FloatType type;

  bool isDouble() const { return type.isF64(); }
  unsigned width() const { return isDouble() ? 64 : 32; }
  /// The stored bits of the significand.
  unsigned fraction() const { return isDouble() ? 52 : 23; }
  int bias() const { return isDouble() ? 1023 : 127; }
};

/// An i1.
struct Flag {
  ScalarBuilder *make;
  mlir::Value value;
};

/// An integer of the width of a floating-point type.
struct Bits {
  ScalarBuilder *make;
  mlir::Value value;

  Bits constant(int64_t number) const {
    return {make, make->constant(make->builder.getIntegerAttr(value.getType(), number))};
  }
};

/// A floating-point number.
struct Real {
  ScalarBuilder *make;
  mlir::Value value;

  FloatFormat format() const { return {llvm::cast<mlir::FloatType>(value.getType())}; }
  Real constant(double number) const {
    return {make, make->constant(make->builder.getFloatAttr(value.getType(), number))};
  }
  Real infinity() const { return constant(std::numeric_limits<double>::infinity()); }
  Real nan() const { return constant(std::numeric_limits<double>::quiet_NaN()); }
};

#define UPDRAFT_SCALAR_OPERATOR(Type, Constant, symbol, Op)                                        \
  inline Type operator symbol(Type a, Type b) {                                                    \
    return {a.make, a.make->create<mlir::Op>(a.value, b.value)};                                   \
  }                                                                                                \
  inline Type operator symbol(Type a, Constant b) { return a symbol a.constant(b); }               \
  inline Type operator symbol(Constant a, Type b) { return b.constant(a) symbol b; }

UPDRAFT_SCALAR_OPERATOR(Real, double, +, arith::AddFOp)
UPDRAFT_SCALAR_OPERATOR(Real, double, -, arith::SubFOp)
UPDRAFT_SCALAR_OPERATOR(Real, double, *, arith::MulFOp)
UPDRAFT_SCALAR_OPERATOR(Real, double, /, arith::DivFOp)
UPDRAFT_SCALAR_OPERATOR(Bits, int64_t, +, arith::AddIOp)
UPDRAFT_SCALAR_OPERATOR(Bits, int64_t, -, arith::SubIOp)
UPDRAFT_SCALAR_OPERATOR(Bits, int64_t, &, arith::AndIOp)
UPDRAFT_SCALAR_OPERATOR(Bits, int64_t, <<, arith::ShLIOp)
/// Arithmetic shift: keeps the sign.
UPDRAFT_SCALAR_OPERATOR(Bits, int64_t, >>, arith::ShRSIOp)
#undef UPDRAFT_SCALAR_OPERATOR

#define UPDRAFT_SCALAR_COMPARISON(symbol, predicate)                                               \
  inline Flag operator symbol(Real a, Real b) {                                                    \
    return {a.make, a.make->create<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::predicate,     \
                                                        a.value, b.value)};                        \
  }                                                                                                \
  inline Flag operator symbol(Real a, double b) { return a symbol a.constant(b); }

/// False if an operand is NaN, except for !=.
UPDRAFT_SCALAR_COMPARISON(<, OLT)
UPDRAFT_SCALAR_COMPARISON(>, OGT)
UPDRAFT_SCALAR_COMPARISON(==, OEQ)
UPDRAFT_SCALAR_COMPARISON(!=, UNE)
#undef UPDRAFT_SCALAR_COMPARISON

inline Flag operator&(Flag a, Flag b) {
  return {a.make, a.make->create<mlir::arith::AndIOp>(a.value, b.value)};
}
inline Flag operator|(Flag a, Flag b) {
  return {a.make, a.make->create<mlir::arith::OrIOp>(a.value, b.value)};
}

inline Flag isNaN(Real a) { return a != a; }
inline Real operator-(Real a) { return {a.make, a.make->create<mlir::arith::NegFOp>(a.value)}; }
inline Real abs(Real a) { return {a.make, a.make->create<mlir::math::AbsFOp>(a.value)}; }
inline Real floor(Real a) { return {a.make, a.make->create<mlir::math::FloorOp>(a.value)}; }

/// `magnitude` with the sign of `sign`.
inline Real copySign(Real magnitude, Real sign) {
  return {sign.make, sign.make->create<mlir::math::CopySignOp>(magnitude.value, sign.value)};
}

/// a * b + c, rounded once.
inline Real fma(Real a, Real b, Real c) {
  return {a.make, a.make->create<mlir::math::FmaOp>(a.value, b.value, c.value)};
}
inline Real fma(Real a, Real b, double c) { return fma(a, b, a.constant(c)); }
inline Real fma(Real a, double b, Real c) { return fma(a, a.constant(b), c); }

inline Real select(Flag flag, Real whenTrue, Real whenFalse) {
  return {flag.make,
          flag.make->create<mlir::arith::SelectOp>(flag.value, whenTrue.value, whenFalse.value)};
}
inline Real select(Flag flag, double whenTrue, Real whenFalse) {
  return select(flag, whenFalse.constant(whenTrue), whenFalse);
}

/// Converts `x` to another floating-point type; rounds if that is narrower.
inline Real convert(Real x, mlir::FloatType type) {
  if (x.format().type == type)
    return x;
  if (x.format().width() > type.getWidth())
    return {x.make, x.make->create<mlir::arith::TruncFOp>(type, x.value)};
  return {x.make, x.make->create<mlir::arith::ExtFOp>(type, x.value)};
}

inline Bits toBits(Real x) {
  mlir::Type type = x.make->builder.getIntegerType(x.format().width());
  return {x.make, x.make->create<mlir::arith::BitcastOp>(type, x.value)};
}
inline Real fromBits(Bits x, mlir::FloatType type) {
  return {x.make, x.make->create<mlir::arith::BitcastOp>(type, x.value)};
}

} // namespace updraft::expansion

#endif // UPDRAFT_TRANSFORMS_MATH_SCALAR_H
