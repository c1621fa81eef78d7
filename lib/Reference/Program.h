//===- Program.h - A rule as a flat list of instructions ----------------------------*- C++ -*-===//
// The form in which a rule is run: its operations in order, their operands resolved to registers.
// What does not depend on an element is apart, because it runs once per step.

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
};

/// Runs `instructions` in order on the registers.
void run(llvm::ArrayRef<Instruction> instructions, Register *registers);

/// A requirement of the rule: the register of its condition, and its message.
struct Requirement {
  uint32_t condition;
  std::string message;
};

class Program {
public:
  std::vector<std::string> hyperNames;
  std::vector<double> hyperDefaults;
  std::vector<Stream> streams;
  std::vector<Requirement> requirements;

  /// The registers before anything has run: constants are set.
  std::vector<Register> registers;
  std::vector<Instruction> scalars;  // run once per step
  std::vector<Instruction> elements; // run once per element

  std::vector<uint32_t> hyperRegisters;
  std::vector<uint32_t> stepRegisters;
  std::vector<uint32_t> firstRegisters;
  std::vector<uint32_t> initialRegisters; // one per state, a scalar
  std::vector<uint32_t> loadRegisters;    // one per stream
  std::vector<uint32_t> nextRegisters;    // the parameter's, then one per state

  Precision precision = Precision::Stated;
  bool computesSingle = true; // elements are loaded as f32
};

/// Reads a rule into a program; fails on what the interpreter does not know.
llvm::Expected<Program> resolve(RuleOp rule, Precision precision);

} // namespace updraft::reference

#endif // UPDRAFT_LIB_REFERENCE_PROGRAM_H
