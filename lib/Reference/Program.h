//===- Program.h - A rule as a flat list of instructions ----------------------------*- C++ -*-===//
// The form in which a rule is run: its operations in order, their operands resolved to registers.

#ifndef UPDRAFT_LIB_REFERENCE_PROGRAM_H
#define UPDRAFT_LIB_REFERENCE_PROGRAM_H

#include "updraft/Reference/Interpreter.h"

#include <array>

namespace updraft::reference {

enum class Opcode : uint8_t {
  // Real to real.
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  Negate,
  Maximum,
  Minimum,
  MaximumNumber,
  MinimumNumber,
  Convert,
  Absolute,
  CopySign,
  FusedMultiplyAdd,
  SquareRoot,
  Floor,
  Ceiling,
  Truncate,
  Round,
  RoundEven,
  Exp,
  Exp2,
  ExpMinusOne,
  Log,
  Log2,
  Log10,
  LogOnePlus,
  Tanh,
  Sine,
  Cosine,
  Power,
  IntegerPower,
  // The bits of one as the other.
  RealToBits,
  BitsToReal,
  // Integer to real.
  SignedToReal,
  UnsignedToReal,
  // Real to integer.
  CompareReal,
  RealToSigned,
  // Integer to integer.
  CompareInteger,
  And,
  Or,
  Xor,
  AddInteger,
  SubtractInteger,
  MultiplyInteger,
  ExtendUnsigned,
  ExtendSigned,
  TruncateInteger,
  ShiftLeft,
  ShiftRightUnsigned,
  ShiftRightSigned,
  // Either.
  Select,
};

/// A float of either width is held as a double, an integer of at most 64 bits as its bits, with
/// zeros above its width.
struct Register {
  double real = 0;
  uint64_t bits = 0;
};

struct Instruction {
  Opcode opcode;
  bool single = false;    // done in f32
  uint8_t width = 64;     // in bits, of an integer result
  uint8_t fromWidth = 64; // in bits, of an integer operand
  uint64_t predicate = 0; // arith's number, for comparisons
  uint32_t result = 0;
  std::array<uint32_t, 3> operands = {0, 0, 0};
  uint8_t operandCount = 0;

  llvm::ArrayRef<uint32_t> inputs() const {
    return llvm::ArrayRef<uint32_t>(operands).take_front(operandCount);
  }
};

/// Computes the result register from the operands'.
void execute(const Instruction &instruction, Register *registers);

/// A requirement of the rule: the register of its condition, and its message.
struct Requirement {
  uint32_t condition;
  std::string message;
};

/// What makes the value of a register: an instruction, or one of what is not element by element.
struct Action {
  enum Kind { Compute, Reduce, Random };

  Kind kind = Compute;
  Extent extent;           // of the result
  Instruction instruction; // of all kinds, its result and its operands

  ReductionKind reduction = ReductionKind::sum;
  Extent from = Extent::element; // the operand of a reduction is over it
  /// What to run at each element to have the operand of a reduction over elements: indices of
  /// actions.
  std::vector<uint32_t> slice;

  uint64_t randomStream = 0;
};

/// A register that `updraft.size` gives.
struct SizeRegister {
  Extent over;
  uint32_t target;
};

class Program {
public:
  std::vector<std::string> hyperNames;
  std::vector<double> hyperDefaults;
  std::vector<Stream> streams;
  std::vector<Requirement> requirements;

  /// The registers before anything has run: constants are set.
  std::vector<Register> registers;
  std::vector<Extent> extents; // of the registers
  std::vector<Action> actions; // in order
  /// The actions to run at each element to have the next values of streams over elements.
  std::vector<uint32_t> nextSlice;

  std::vector<uint32_t> hyperRegisters;
  std::vector<uint32_t> stepRegisters;
  std::vector<uint32_t> firstRegisters;
  std::vector<SizeRegister> sizeRegisters;
  std::vector<uint32_t> initialRegisters; // one per state, a scalar
  std::vector<uint32_t> loadRegisters;    // one per stream; a correction has that of its value
  std::vector<uint32_t> nextRegisters;    // the parameter's, then one per state
  std::vector<size_t> nextStreams;        // the streams of these
  std::optional<uint32_t> skipRegister;

  Precision precision = Precision::Stated;
  bool computesSingle = true; // what is not a scalar is loaded as f32
  bool isMatrix = false;      // elements are reduced by blocks of rows

  /// Where the corrections of a stream are.
  size_t correctionOf(size_t stream) const { return stream == 0 ? 2 : stream + 1; }
};

/// Reads a rule into a program; fails on what the interpreter does not know.
llvm::Expected<Program> resolve(RuleOp rule, Precision precision);

} // namespace updraft::reference

#endif // UPDRAFT_LIB_REFERENCE_PROGRAM_H
