//===- StageImporter.h - The update of one stage as operations ----------------------*- C++ -*-===//
// A rule, or a chain of transforms around one, is imported stage by stage. What one stage hands to
// the next is the gradient, the parameter and the step, as it left them.

#ifndef UPDRAFT_LIB_FRONTEND_STAGEIMPORTER_H
#define UPDRAFT_LIB_FRONTEND_STAGEIMPORTER_H

#include "Request.h"

namespace updraft {

/// The inputs of the whole rule. `step` and `first` are made where they are first used.
class Inputs {
public:
  Inputs(mlir::OpBuilder &builder, const Evaluator &evaluator, mlir::Location loc)
      : builder(builder), evaluator(evaluator), loc(loc) {}

  void createParam(mlir::Type compute, mlir::Type storage, mlir::Location at);
  void createGrad(mlir::Type compute, mlir::Type storage, mlir::Location at);
  /// Makes the operation of `step` or `first` where it is listed.
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

/// What the stages so far have made of the inputs.
struct Progress {
  explicit Progress(Inputs &inputs)
      : inputs(inputs), param(inputs.param), grad(inputs.grad), newParam(inputs.param) {}

  Inputs &inputs;
  Value param, grad, newParam;
  /// Where a stage holds the later ones: their own step count before this step.
  std::optional<Value> count;
  /// Whether this step leaves later stages as they are.
  std::optional<Value> held;
  std::optional<Value> skip;
  /// The first condition of it that is one tensor's.
  std::optional<SourceRange> skipOfTensor;
};

class StageImporter {
public:
  /// `names` has the hyperparameters and flags.
  StageImporter(mlir::OpBuilder &builder, Evaluator &evaluator, const ResolvedStage &stage,
                Names names, bool isMatrix, DiagnosticEngine &diagnostics)
      : builder(builder), evaluator(evaluator), stage(stage), isMatrix(isMatrix),
        diagnostics(diagnostics), names(std::move(names)) {}

  /// Whether the stage may hold later ones, which then have a step count of their own.
  bool holds() const;
  /// Makes what the update lists, in its order.
  void createInputs(Inputs &inputs);
  void createStates(llvm::function_ref<mlir::Type(const ResolvedState &)> storageType);
  void importUpdate(Progress &progress);
  /// Called after the updates of all stages.
  void importFinish(Progress &progress);
  /// The next values of the stage's states, in the order of createStates.
  void appendNext(llvm::SmallVectorImpl<mlir::Value> &values) const;

private:
  struct StateValue {
    const State *declaration; ///< null for the step count of later stages
    Value before;
    Value next;
    /// Of a state whose initial value depends on the tensor, or null.
    const Expr *initial;
  };

  void readInitials(Progress &progress);
  void importStatements(const Update &update, Progress &progress, bool isFinish);
  void importNext(const Statement &statement, Progress &progress, bool isFinish);
  void importCondition(const Statement &statement, Progress &progress);
  bool isActive(const Statement &statement);
  Names inputNames(const Update &update, Progress &progress, bool isFinish);
  Value step(const Progress &progress, mlir::Location loc);
  Value first(const Progress &progress, mlir::Location loc);
  /// `old` where the stage is held, else `value`.
  Value unlessHeld(const Value &old, const Value &value, mlir::Location loc);
  Value asElement(const Value &value, mlir::Location loc);

  mlir::OpBuilder &builder;
  Evaluator &evaluator;
  const ResolvedStage &stage;
  bool isMatrix;
  DiagnosticEngine &diagnostics;
  /// Hyperparameters and flags; then also states.
  Names names;
  /// While an update is imported, also its inputs and what `let` names.
  Names scope{nullptr, {}};
  llvm::SmallVector<StateValue> states;
  /// Whether earlier stages hold this one, and what it saw.
  std::optional<Value> held, holdsLater, paramBefore;
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_STAGEIMPORTER_H
