//===- Program.h - A rule as a flat list of instructions ----------------------------*- C++ -*-===//
// The executable form of a rule: its operations in order, with operands resolved to registers.

#ifndef UPDRAFT_LIB_REFERENCE_PROGRAM_H
#define UPDRAFT_LIB_REFERENCE_PROGRAM_H

#include "runtime/matrix/Lapack.h"
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
  // Casts between the bits of reals and integers.
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
  // Real or integer.
  Select,
};

/// Holds a float of either width as a double, and an integer of at most 64 bits as its bits, with
/// zeros above its width.
struct Register {
  double real = 0;
  uint64_t bits = 0;
};

struct Instruction {
  Opcode opcode;
  bool single = false;    // computed in f32
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

/// Computes the result register from the operands' registers.
void execute(const Instruction &instruction, Register *registers);

/// A requirement of the rule: the register of its condition, and its message.
struct Requirement {
  uint32_t condition;
  std::string message;
};

/// Whether a register has a value for each place, so that it is computed before the places of other
/// extents. Values over elements are computed at each element instead, where they are needed.
inline bool isSpread(Extent extent) {
  return !isWithin(extent, Extent::tensor) && extent != Extent::element;
}

/// Computes the value of a register: by an instruction, a reduction, a product, transpose or other
/// function of matrices, or as an identity matrix or random bits.
struct Action {
  enum Kind { Compute, Reduce, Product, Transpose, Apply, Identity, Random };

  Kind kind = Compute;
  Extent extent;           // of the result
  Instruction instruction; // for all kinds, holds the result and operands
  /// The operands of a computation over elements that have been computed for all places.
  std::vector<uint32_t> spreadInputs;

  ReductionKind reduction = ReductionKind::sum;
  Extent from = Extent::element;                // the extent of a reduction's operand
  bool symmetric = false;                       // a product of which one triangle is computed
  MatrixFunction function = MatrixFunction::qr; // of `Apply`
  /// For a reduction, product, transpose or function of elements: indices of the actions that
  /// compute its operands at each element.
  std::vector<uint32_t> slice;

  /// Whether the action computes a matrix as a whole.
  bool makesMatrix() const { return kind == Product || kind == Transpose || kind == Apply; }

  uint64_t randomStream = 0;
};

/// The result register of an `updraft.size`.
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

  /// The registers before execution, with constants set.
  std::vector<Register> registers;
  std::vector<Extent> extents; // of the registers
  std::vector<char> isWhole;   // registers over elements that are computed for all elements at once
  std::vector<Action> actions; // in order
  /// The actions that compute the next values of streams over elements, at each element.
  std::vector<uint32_t> nextSlice;

  std::vector<uint32_t> hyperRegisters;
  std::vector<uint32_t> stepRegisters;
  std::vector<uint32_t> firstRegisters;
  std::vector<SizeRegister> sizeRegisters;
  std::vector<uint32_t> initialRegisters; // one per state, a scalar
  std::vector<uint32_t> loadRegisters;    // one per stream; a correction shares that of its value
  std::vector<uint32_t> nextRegisters;    // the parameter's, then one per state
  std::vector<size_t> nextStreams;        // the streams of `nextRegisters`
  std::optional<uint32_t> skipRegister;
  std::vector<std::string> probeNames;
  std::vector<uint32_t> probeRegisters;

  Precision precision = Precision::Stated;
  bool computesSingle = true;              // values other than scalars are loaded as f32
  const runtime::Lapack *lapack = nullptr; // if a function needs it
  bool isMatrix = false;                   // elements are reduced by blocks of rows
  MatrixShapes shapes = allShapes;         // of the matrices that the rule is for
  double chosen = 0;                       // the part of the shorter side that is chosen

  /// Returns the index of a stream's corrections.
  size_t correctionOf(size_t stream) const { return stream == 0 ? 2 : stream + 1; }
};

/// Converts a rule to a program; fails on operations that the interpreter does not know.
llvm::Expected<Program> resolve(RuleOp rule, Precision precision);

} // namespace updraft::reference

#endif // UPDRAFT_LIB_REFERENCE_PROGRAM_H
