//===- Interpreter.h - Runs a rule as it is written ---------------------------------*- C++ -*-===//
// The oracle of the differential tests: it runs an `updraft.rule` operation by operation, each once
// for every place of its extent, and shares nothing with the compiler's lowering. What it computes
// is what the rule means.

#ifndef UPDRAFT_REFERENCE_INTERPRETER_H
#define UPDRAFT_REFERENCE_INTERPRETER_H

#include "Updraft/IR/UpdraftOps.h"
#include "updraft/Reference/Reduction.h"
#include "updraft/Reference/StorageFormat.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace updraft::reference {

/// What values are rounded to.
enum class Precision {
  /// The types that the rule states: f32 operations are done in float, f64 ones in double; a value
  /// is rounded to its storage type when it is stored. `exp`, `log`, `tanh` and `pow` are
  /// the arithmetic that `updraft-expand-math` makes of them.
  Stated,
  /// Every value and every stored element is a double, functions are the C library's: how far
  /// rounding takes a rule from its mathematics. All buffers hold f64 then.
  Double,
};

/// What a rule has in memory: the parameter, the gradient or a state.
struct Stream {
  std::string name;
  StorageFormat format; // of its values in the buffers given to `step`
  Extent over;          // what it has one value for
  Rounding rounding = Rounding::Nearest;
  unsigned number = 0;       // with stochastic rounding: among the streams that have it
  bool isCorrection = false; // of the stream before it, or of the parameter
};

class Interpreter;

/// One tensor of a step.
struct TensorStep {
  const Interpreter *rule;
  Shape shape;
  double step = 1;     // counts from 1, this step included
  bool first = false;  // the states have just been made, with their initial values
  uint64_t number = 0; // of the parameter, over all groups: for random bits
  /// One per stream of the rule, with a value for each place of the stream's extent: rows and
  /// columns of all batches in order. Tensors that take part share the buffer of a state over the
  /// group. The gradient's is only read. No buffer needs alignment.
  std::vector<void *> buffers;
};

/// What is common to the tensors of a step.
struct GroupFacts {
  std::vector<double> hypers; // one value per hyperparameter
  uint64_t seed = 0;
};

/// Applies one step to all tensors of a group, in the order of their registration. Their rules have
/// the same hyperparameters, and the k-th reduction over the group of one is that of the others: a
/// rule for vectors and its variant for matrices. Of a state over the group, the value of the first
/// tensor that is not skipped counts. Returns for each tensor whether it was skipped, which changes
/// none of its buffers. All tensors count for reductions over the group, skipped ones too: what is
/// scheduled has none that come after a condition of one tensor.
std::vector<bool> stepGroup(const GroupFacts &facts, llvm::ArrayRef<TensorStep> tensors);

class Program;

/// A rule made ready to run. Immutable: any number of threads may use it at once. It does not refer
/// to the operation that it was made from.
class Interpreter {
public:
  /// Fails on an operation or a type that the interpreter does not know, naming it. The rule must
  /// have passed verification.
  static llvm::Expected<Interpreter> create(RuleOp rule, Precision precision = Precision::Stated);

  /// In the order of declaration.
  const std::vector<std::string> &hyperNames() const;
  const std::vector<double> &hyperDefaults() const;

  /// `param`, `grad`, then the states in the order of declaration. Where values have corrections, a
  /// stream of these follows; that of the parameter is the first after `grad`.
  const std::vector<Stream> &streams() const;
  size_t stateCount() const { return streams().size() - 2; }
  /// The rule is one for matrices.
  bool isMatrix() const;

  /// The value of each state stream before the first step, before rounding to storage.
  std::vector<double> initialStates(llvm::ArrayRef<double> hypers) const;

  /// The message of the first requirement that does not hold, its `{name}`s as they are written;
  /// nothing if all hold.
  struct BrokenRequirement {
    unsigned index;
    std::string message;
  };
  std::optional<BrokenRequirement> firstBrokenRequirement(llvm::ArrayRef<double> hypers) const;

  /// Applies one step to a vector that is alone in its group; returns whether it was skipped.
  bool step(llvm::ArrayRef<double> hypers, double step, bool first, llvm::ArrayRef<void *> buffers,
            int64_t count) const;

  const Program &getProgram() const { return *program; }

private:
  explicit Interpreter(std::shared_ptr<const Program> program) : program(std::move(program)) {}

  std::shared_ptr<const Program> program;
};

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_INTERPRETER_H
