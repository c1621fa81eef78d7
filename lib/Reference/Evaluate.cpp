//===- Evaluate.cpp - Executes single instructions --------------------------------------------===//
// IEEE 754 arithmetic in float or double, rounded once per operation to nearest even.

#include "Arithmetic.h"
#include "Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Keeps a multiplication and an addition as two operations with two roundings.
#pragma STDC FP_CONTRACT OFF

using namespace mlir;
using namespace updraft::reference;

namespace {

template <typename Real> Real minimum(Real a, Real b) { return -maximum(-a, -b); }

/// Computes `base` to the power of an integer, by squaring. The order of the multiplications is
/// part of the definition of `^` with an integer exponent; the compiler uses the same order.
template <typename Real> Real integerPower(Real base, int64_t exponent) {
  Real result = 1;
  uint64_t rest = exponent < 0 ? -static_cast<uint64_t>(exponent) : exponent;
  while (rest != 0) {
    if (rest & 1)
      result *= base;
    rest >>= 1;
    if (rest != 0)
      base *= base;
  }
  return exponent < 0 ? 1 / result : result;
}

int64_t signExtend(uint64_t bits, unsigned width) {
  const unsigned unused = 64 - width;
  return static_cast<int64_t>(bits << unused) >> unused;
}

uint64_t keepWidth(uint64_t bits, unsigned width) {
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

/// Values out of range are undefined in the rule; this returns the most negative value, as x86-64
/// does.
int64_t toSigned(double value) {
  const double limit = 0x1p63;
  if (!(value >= -limit && value < limit))
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

bool compareReal(arith::CmpFPredicate predicate, double a, double b) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return !unordered && a == b;
  case arith::CmpFPredicate::OGT:
    return !unordered && a > b;
  case arith::CmpFPredicate::OGE:
    return !unordered && a >= b;
  case arith::CmpFPredicate::OLT:
    return !unordered && a < b;
  case arith::CmpFPredicate::OLE:
    return !unordered && a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return unordered || a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  return false;
}

bool compareInteger(arith::CmpIPredicate predicate, uint64_t a, uint64_t b, unsigned width) {
  const int64_t signedA = signExtend(a, width), signedB = signExtend(b, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return signedA < signedB;
  case arith::CmpIPredicate::sle:
    return signedA <= signedB;
  case arith::CmpIPredicate::sgt:
    return signedA > signedB;
  case arith::CmpIPredicate::sge:
    return signedA >= signedB;
  case arith::CmpIPredicate::ult:
    return a < b;
  case arith::CmpIPredicate::ule:
    return a <= b;
  case arith::CmpIPredicate::ugt:
    return a > b;
  case arith::CmpIPredicate::uge:
    return a >= b;
  }
  return false;
}

/// Executes operations whose result is a real number, in `Real`.
template <typename Real> Real evaluateReal(const Instruction &instruction, const Register *regs) {
  const Register &x = regs[instruction.operands[0]];
  const Register &y = regs[instruction.operands[1]];
  const Real a = static_cast<Real>(x.real);
  const Real b = static_cast<Real>(y.real);
  const Real c = static_cast<Real>(regs[instruction.operands[2]].real);
  switch (instruction.opcode) {
  case Opcode::Add:
    return a + b;
  case Opcode::Subtract:
    return a - b;
  case Opcode::Multiply:
    return a * b;
  case Opcode::Divide:
    return a / b;
  case Opcode::Remainder:
    return std::fmod(a, b);
  case Opcode::Negate:
    return -a;
  case Opcode::Maximum:
    return maximum(a, b);
  case Opcode::Minimum:
    return minimum(a, b);
  case Opcode::MaximumNumber:
    return std::isnan(a) ? b : std::isnan(b) ? a : maximum(a, b);
  case Opcode::MinimumNumber:
    return std::isnan(a) ? b : std::isnan(b) ? a : minimum(a, b);
  case Opcode::Convert:
    return a;
  case Opcode::Absolute:
    return std::fabs(a);
  case Opcode::CopySign:
    return std::copysign(a, b);
  case Opcode::FusedMultiplyAdd:
    return std::fma(a, b, c);
  case Opcode::SquareRoot:
    return std::sqrt(a);
  case Opcode::Floor:
    return std::floor(a);
  case Opcode::Ceiling:
    return std::ceil(a);
  case Opcode::Truncate:
    return std::trunc(a);
  case Opcode::Round:
    return std::round(a);
  case Opcode::RoundEven:
    return std::nearbyint(a);
  case Opcode::Exp:
    return std::exp(a);
  case Opcode::Exp2:
    return std::exp2(a);
  case Opcode::ExpMinusOne:
    return std::expm1(a);
  case Opcode::Log:
    return std::log(a);
  case Opcode::Log2:
    return std::log2(a);
  case Opcode::Log10:
    return std::log10(a);
  case Opcode::LogOnePlus:
    return std::log1p(a);
  case Opcode::Tanh:
    return std::tanh(a);
  case Opcode::Sine:
    return std::sin(a);
  case Opcode::Cosine:
    return std::cos(a);
  case Opcode::Power:
    return std::pow(a, b);
  case Opcode::IntegerPower:
    return integerPower(a, signExtend(y.bits, instruction.fromWidth));
  case Opcode::SignedToReal:
    return static_cast<Real>(signExtend(x.bits, instruction.fromWidth));
  case Opcode::UnsignedToReal:
    return static_cast<Real>(x.bits);
  default:
    return std::numeric_limits<Real>::quiet_NaN(); // the caller handles all others
  }
}

} // namespace

void updraft::reference::execute(const Instruction &instruction, Register *regs) {
  const Register x = regs[instruction.operands[0]];
  const Register y = regs[instruction.operands[1]];
  Register &result = regs[instruction.result];
  switch (instruction.opcode) {
  case Opcode::CompareReal:
    result.bits =
        compareReal(static_cast<arith::CmpFPredicate>(instruction.predicate), x.real, y.real);
    return;
  case Opcode::RealToSigned:
    result.bits = keepWidth(toSigned(x.real), instruction.width);
    return;
  case Opcode::CompareInteger:
    result.bits = compareInteger(static_cast<arith::CmpIPredicate>(instruction.predicate), x.bits,
                                 y.bits, instruction.fromWidth);
    return;
  case Opcode::And:
    result.bits = x.bits & y.bits;
    return;
  case Opcode::Or:
    result.bits = x.bits | y.bits;
    return;
  case Opcode::Xor:
    result.bits = x.bits ^ y.bits;
    return;
  case Opcode::AddInteger:
    result.bits = keepWidth(x.bits + y.bits, instruction.width);
    return;
  case Opcode::SubtractInteger:
    result.bits = keepWidth(x.bits - y.bits, instruction.width);
    return;
  case Opcode::MultiplyInteger:
    result.bits = keepWidth(x.bits * y.bits, instruction.width);
    return;
  case Opcode::RealToBits:
    result.bits = instruction.width == 32 ? llvm::bit_cast<uint32_t>(static_cast<float>(x.real))
                                          : llvm::bit_cast<uint64_t>(x.real);
    return;
  case Opcode::BitsToReal:
    result.real = instruction.fromWidth == 32 ? llvm::bit_cast<float>(static_cast<uint32_t>(x.bits))
                                              : llvm::bit_cast<double>(x.bits);
    return;
  case Opcode::ExtendUnsigned:
    result.bits = x.bits;
    return;
  case Opcode::ExtendSigned:
    result.bits = keepWidth(signExtend(x.bits, instruction.fromWidth), instruction.width);
    return;
  case Opcode::TruncateInteger:
    result.bits = keepWidth(x.bits, instruction.width);
    return;
  case Opcode::ShiftLeft:
    result.bits = y.bits < instruction.width ? keepWidth(x.bits << y.bits, instruction.width) : 0;
    return;
  case Opcode::ShiftRightUnsigned:
    result.bits = y.bits < instruction.width ? x.bits >> y.bits : 0;
    return;
  case Opcode::ShiftRightSigned:
    result.bits = keepWidth(signExtend(x.bits, instruction.width) >> std::min<uint64_t>(y.bits, 63),
                            instruction.width);
    return;
  case Opcode::Select:
    result = x.bits ? y : regs[instruction.operands[2]];
    return;
  default:
    result.real = instruction.single ? evaluateReal<float>(instruction, regs)
                                     : evaluateReal<double>(instruction, regs);
    return;
  }
}
