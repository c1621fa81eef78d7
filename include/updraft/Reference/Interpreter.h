//===- Interpreter.h - Executes a rule as it is written -----------------------------*- C++ -*-===//
// The oracle of the differential tests. Executes an `updraft.rule` operation by operation, once for
// every place of the operation's extent, and shares no code with the compiler's lowering. Its
// results define the meaning of the rule.

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

/// The precision of computed values.
enum class Precision {
  /// Uses the types of the rule: f32 operations use float, f64 operations use double, and a value
  /// is rounded to its storage type when it is stored. `exp`, `log`, `tanh` and `pow` use the same
  /// arithmetic as `updraft-expand-math`.
  Stated,
  /// Uses double for every value and every stored element, and functions of the C library. This
  /// shows how far rounding moves a rule from its mathematics. All buffers hold f64.
  Double,
};

/// A buffer of a rule: the parameter, the gradient or a state.
struct Stream {
  std::string name;
  StorageFormat format; // of the elements in the buffers given to `step`
  Extent over;          // the extent that has one value per place
  Rounding rounding = Rounding::Nearest;
  unsigned number = 0;       // index among the streams with stochastic rounding
  bool isCorrection = false; // corrects the stream before it, or the parameter
};

class Interpreter;

/// One tensor of a step.
struct TensorStep {
  const Interpreter *rule;
  Shape shape;
  double step = 1;     // counts from 1, including this step
  bool first = false;  // the states have just been created with their initial values
  uint64_t number = 0; // index of the parameter over all groups: for random bits
  /// One per stream of the rule, with a value for each place of the stream's extent: rows and
  /// columns of all batches in order. Tensors of a group share the buffer of a state over the
  /// group. The gradient's buffer is only read. Buffers need no alignment.
  std::vector<void *> buffers;
  /// Receives the values of the probes, also if the tensor is skipped; may be null.
  std::vector<double> *probes = nullptr;
};

/// The data that all tensors of a step share.
struct GroupFacts {
  std::vector<double> hypers; // one value per hyperparameter
  uint64_t seed = 0;
};

/// Applies one step to all tensors of a group, in the order of their registration. The rules of the
/// tensors, one for vectors and a variant for matrices, must have the same hyperparameters and the
/// same reductions over the group. A state over the group takes its value from the first tensor
/// that is not skipped. Returns for each tensor whether it was skipped, in which case its buffers
/// don't change. All tensors take part in reductions over the group, including skipped ones: in a
/// scheduled rule, these reductions never depend on a condition of one tensor.
std::vector<bool> stepGroup(const GroupFacts &facts, llvm::ArrayRef<TensorStep> tensors);

class Program;
class Interpreter;

/// Returns the form of a rule for tensors of these dimensions.
const Interpreter &formFor(llvm::ArrayRef<Interpreter> forms, llvm::ArrayRef<int64_t> dimensions);

/// A rule that is ready to run. Immutable: any number of threads may use it at once. Does not refer
/// to the operation that it was created from.
class Interpreter {
public:
  /// Fails on an unknown operation or type and names it. The rule must have passed verification.
  static llvm::Expected<Interpreter> create(RuleOp rule, Precision precision = Precision::Stated);

  /// In the order of declaration.
  const std::vector<std::string> &hyperNames() const;
  const std::vector<double> &hyperDefaults() const;

  /// `param`, `grad`, then the states in the order of declaration. A stream of corrections directly
  /// follows the stream that it corrects; the parameter's follows `grad`.
  const std::vector<Stream> &streams() const;
  const std::vector<std::string> &probeNames() const;
  size_t stateCount() const { return streams().size() - 2; }
  /// Whether the rule is for matrices.
  bool isMatrix() const;
  /// Whether this is the form for tensors of these dimensions, among the forms of a rule that has
  /// several.
  bool isFor(llvm::ArrayRef<int64_t> dimensions) const;

  /// The value of each state stream before the first step, before rounding to storage.
  std::vector<double> initialStates(llvm::ArrayRef<double> hypers) const;

  /// Returns the message of the first requirement that does not hold, with its `{name}`s
  /// unexpanded; nothing if all hold.
  struct BrokenRequirement {
    unsigned index;
    std::string message;
  };
  std::optional<BrokenRequirement> firstBrokenRequirement(llvm::ArrayRef<double> hypers) const;

  /// Applies one step to a vector that is alone in its group. Returns whether it was skipped.
  bool step(llvm::ArrayRef<double> hypers, double step, bool first, llvm::ArrayRef<void *> buffers,
            int64_t count) const;

  const Program &getProgram() const { return *program; }

private:
  explicit Interpreter(std::shared_ptr<const Program> program) : program(std::move(program)) {}

  std::shared_ptr<const Program> program;
};

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_INTERPRETER_H
