//===- Interpreter.h - Runs a rule as it is written ---------------------------------*- C++ -*-===//
// The oracle of the differential tests: it runs an `updraft.rule` one element at a time, operation
// by operation, and shares nothing with the compiler's lowering. What it computes is what the rule
// means.

#ifndef UPDRAFT_REFERENCE_INTERPRETER_H
#define UPDRAFT_REFERENCE_INTERPRETER_H

#include "Updraft/IR/UpdraftOps.h"
#include "updraft/Reference/StorageFormat.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace updraft::reference {

/// What values are rounded to.
enum class Precision {
  /// The types that the rule states: f32 operations are done in float, f64 ones in double; an
  /// element
  /// is rounded to its storage type when it is stored.
  Stated,
  /// Every value and every stored element is a double: how far rounding takes a rule from its
  /// mathematics. All buffers hold f64 then.
  Double,
};

/// A tensor of the rule: the parameter, the gradient or a state.
struct Stream {
  std::string name;
  StorageFormat format; // of its elements in the buffers given to `step`
};

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

  /// `param`, `grad`, then the states in the order of declaration.
  const std::vector<Stream> &streams() const;
  size_t stateCount() const { return streams().size() - 2; }

  /// The value that each state's elements have before the first step, before rounding to storage.
  std::vector<double> initialStates(llvm::ArrayRef<double> hypers) const;

  /// The message of the first requirement that does not hold, its `{name}`s as they are written;
  /// nothing if all hold.
  struct BrokenRequirement {
    unsigned index;
    std::string message;
  };
  std::optional<BrokenRequirement> firstBrokenRequirement(llvm::ArrayRef<double> hypers) const;

  /// Applies one step to elements [0, count) of `buffers`, one per stream; the gradient's is only
  /// read. `hypers` has one value per hyperparameter. `step` counts from 1; `first` says that the
  /// states have just been made, with their initial values. Buffers need no alignment.
  void step(llvm::ArrayRef<double> hypers, double step, bool first, llvm::ArrayRef<void *> buffers,
            int64_t count) const;

private:
  explicit Interpreter(std::shared_ptr<const Program> program) : program(std::move(program)) {}

  std::shared_ptr<const Program> program;
};

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_INTERPRETER_H
