//===- StageImporter.h - Imports the update of one stage ----------------------------*- C++ -*-===//
// Imports a rule, or a chain of transforms around one, stage by stage. Each stage passes the
// gradient, the parameter and the step to the next.

#ifndef UPDRAFT_LIB_FRONTEND_STAGEIMPORTER_H
#define UPDRAFT_LIB_FRONTEND_STAGEIMPORTER_H

#include "Request.h"

namespace updraft {

/// The inputs of the whole rule. `step` and `first` are created at their first use.
class Inputs {
public:
  Inputs(mlir::OpBuilder &builder, const Evaluator &evaluator, mlir::Location loc)
      : builder(builder), evaluator(evaluator), loc(loc) {}

  void createParam(mlir::Type compute, mlir::Type storage, mlir::Location at);
  void createGrad(mlir::Type compute, mlir::Type storage, mlir::Location at);
  /// Creates the operation of `step` or `first` at the place where it is listed.
  void create(const Identifier &input);

  Value step();
  Value first();

  Value param, grad;

private:
  Value makeStep(mlir::Location at);
  Value makeFirst(mlir::Location at);

  mlir::OpBuilder &builder;
  const Evaluator &evaluator;
  mlir::Location loc;
  std::optional<Value> stepValue, firstValue;
};

/// A probe, and its values as f64.
struct ImportedProbe {
  const ResolvedStage *stage; ///< null for one that the request added
  Identifier name;
  llvm::SmallVector<mlir::Value, 1> values; ///< one, or the counts of a histogram
  std::vector<double> bounds;               ///< of a histogram; else empty
};

/// Imports a probe that may use these names. Returns nothing after reporting an error.
std::optional<ImportedProbe> importProbe(Evaluator &evaluator, const Identifier &name,
                                         const Expr &value, const Names &names,
                                         DiagnosticEngine &diagnostics);

/// The state of the import after the stages so far.
struct Progress {
  explicit Progress(Inputs &inputs)
      : inputs(inputs), param(inputs.param), grad(inputs.grad), newParam(inputs.param) {}

  Inputs &inputs;
  Value param, grad, newParam;
  /// The gradient that the rule gets.
  Value ruleGrad;
  /// If a stage holds the later ones: their own step count before this step.
  std::optional<Value> count;
  /// Whether this step leaves later stages unchanged.
  std::optional<Value> held;
  std::optional<Value> skip;
  /// The locations of all `next`, each under the name of the state or `param`.
  llvm::SmallVector<mlir::Location> writes;
  /// The first part of `skip` that is a condition of one tensor.
  std::optional<SourceRange> skipOfTensor;
  /// The probes so far.
  std::vector<ImportedProbe> probes;
};

class StageImporter {
public:
  /// `names` contains the hyperparameters and flags.
  StageImporter(mlir::OpBuilder &builder, Evaluator &evaluator, const ResolvedStage &stage,
                Names names, bool isMatrix, DiagnosticEngine &diagnostics)
      : builder(builder), evaluator(evaluator), stage(stage), isMatrix(isMatrix),
        diagnostics(diagnostics), names(std::move(names)) {}

  /// Whether the stage may hold later ones, which then have their own step count.
  bool holds() const;
  /// Creates the inputs that the update lists, in order.
  void createInputs(Inputs &inputs);
  void createStates(llvm::function_ref<mlir::Type(const ResolvedState &)> storageType);
  void importUpdate(Progress &progress);
  /// Called after the updates of all stages.
  void importFinish(Progress &progress);
  /// Appends the next values of the stage's states, in the order of createStates.
  void appendNext(llvm::SmallVectorImpl<mlir::Value> &values) const;
  /// Adds the hyperparameters, flags and states by their public names.
  void addPublic(Names &known) const;
  /// Adds the values of states after the step, as `new_` before their public or local names.
  void addNext(Names &known, llvm::StringSaver &saver, bool arePublic) const;

private:
  struct StateValue {
    const State *declaration; ///< null for the step count of later stages
    llvm::StringRef name;     ///< in the whole rule
    Value before;
    Value next;
    /// The initial value, if it depends on the tensor; else null.
    const Expr *initial;
  };

  void readInitials(Progress &progress);
  void importStatements(const Update &update, Progress &progress, bool isFinish);
  void importNext(const Statement &statement, Progress &progress, bool isFinish);
  void importCondition(const Statement &statement, Progress &progress);
  void importProbes(const Update &update, Progress &progress);
  bool isActive(const Statement &statement);
  Names inputNames(const Update &update, Progress &progress, bool isFinish);
  Value step(const Progress &progress, mlir::Location loc);
  Value first(const Progress &progress, mlir::Location loc);
  /// Returns `old` if the stage is held, else `value`.
  Value unlessHeld(const Value &old, const Value &value, mlir::Location loc);
  Value asElement(const Value &value, mlir::Location loc);

  mlir::OpBuilder &builder;
  Evaluator &evaluator;
  const ResolvedStage &stage;
  bool isMatrix;
  DiagnosticEngine &diagnostics;
  /// Hyperparameters and flags; then also states.
  Names names;
  /// While importing an update, also its inputs and the names of `let`.
  Names scope{nullptr, {}};
  /// The scope of `update`, for its probes, if there is a `finish`.
  Names updateScope{nullptr, {}};
  llvm::SmallVector<StateValue, 0> states;
  /// Whether earlier stages hold this one, and whether later ones are held.
  std::optional<Value> held, holdsLater;
  /// The parameter, the gradient and the step count that `update` gets.
  std::optional<Value> paramBefore, gradBefore, countBefore;
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_STAGEIMPORTER_H
