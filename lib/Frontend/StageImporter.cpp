//===- StageImporter.cpp - Imports the update of one stage ------------------------------------===//

#include "StageImporter.h"

#include "MatrixShapes.h"
#include "Usage.h"

#include "Updraft/IR/UpdraftOps.h"

using namespace updraft;
using llvm::StringRef;
using mlir::Location;

namespace {
// Describes the values that a `next` of this extent takes.
StringRef describeExtent(Extent over) {
  return over == Extent::group    ? "a scalar of the group"
         : over == Extent::tensor ? "a scalar"
                                  : describe(Type{Kind::Number, over});
}

// Describes the value that was found for a state over `over`. The tensor is named only in a
// conflict with the group, and the parameter's shape only in one with a square matrix.
StringRef describeFound(Extent found, Extent over) {
  return found == Extent::tensor ? "a scalar of the tensor"
         : isSquareExtent(over)  ? describeShape(found)
                                 : describe(Type{Kind::Number, found});
}
} // namespace

void Inputs::createParam(mlir::Type compute, mlir::Type storage, Location at) {
  param = Value::ofIr(Kind::Number, Extent::element,
                      ParamOp::create(builder, at, compute, mlir::TypeAttr::get(storage)));
}

void Inputs::createGrad(mlir::Type compute, mlir::Type storage, Location at) {
  grad = Value::ofIr(Kind::Number, Extent::element,
                     GradOp::create(builder, at, compute, mlir::TypeAttr::get(storage)));
}

Value Inputs::makeStep(Location at) {
  Value step =
      Value::ofIr(Kind::Number, Extent::tensor, StepOp::create(builder, at, builder.getF64Type()));
  step.isInteger = true;
  step.bound = 0x1p53;
  return step;
}

Value Inputs::makeFirst(Location at) {
  return Value::ofIr(Kind::Bool, Extent::tensor, FirstOp::create(builder, at, builder.getI1Type()));
}

void Inputs::create(const Identifier &input) {
  if (input.text == "step" && !stepValue)
    stepValue = makeStep(evaluator.location(input));
  if (input.text == "first" && !firstValue)
    firstValue = makeFirst(evaluator.location(input));
}

Value Inputs::step() {
  if (!stepValue)
    stepValue = makeStep(loc);
  return *stepValue;
}

Value Inputs::first() {
  if (!firstValue)
    firstValue = makeFirst(loc);
  return *firstValue;
}

void StageImporter::createInputs(Inputs &inputs) {
  evaluator.setCalls(stage.calls);
  for (const std::optional<Update> *update : {&stage.rule->update, &stage.rule->finish})
    if (*update)
      for (const Identifier &input : (*update)->inputs)
        inputs.create(input);
}

bool StageImporter::holds() const { return stage.rule->holds(); }

void StageImporter::createStates(
    llvm::function_ref<mlir::Type(const ResolvedState &)> storageType) {
  evaluator.setCalls(stage.calls);
  auto create = [&](Location loc, StringRef name, Extent over, mlir::Type storage,
                    mlir::Value initial, bool fromStep = false) {
    mlir::Type type = isTensorExtent(over) ? evaluator.emit.computeType() : builder.getF64Type();
    return Value::ofIr(Kind::Number, over,
                       StateOp::create(builder, loc, type, name, over, storage, initial, fromStep));
  };
  llvm::SmallVector<std::pair<StringRef, Value>> declared;
  for (const ResolvedState &state : stage.states) {
    const Identifier &name = state.declaration->name;
    if (!state.exists(isMatrix)) {
      Value absent;
      absent.absent = state.declaration;
      declared.emplace_back(name.text, absent);
      continue;
    }
    const Expr &initialExpr = *state.declaration->initial;
    bool isOfTensor = dependsOnTensor(initialExpr, *stage.rule->file);
    Value initial = isOfTensor ? Value::ofNumber(0) : evaluator.evaluate(initialExpr, names);
    if (initial.isError())
      continue;
    Value value =
        create(evaluator.location(Identifier{state.name, name.range}), state.name,
               extentOf(*state.declaration), storageType(state),
               evaluator.emit.scalar(initial, evaluator.location(initialExpr.range)), isOfTensor);
    declared.emplace_back(name.text, value);
    states.push_back(
        {state.declaration, state.name, value, value, isOfTensor ? &initialExpr : nullptr});
  }
  // Declares states only now, because an initial value can't depend on other states.
  for (auto &[name, value] : declared)
    names.add(name, value);
  if (!holds())
    return;
  Location loc = evaluator.location(stage.rule->name.range);
  Value count = create(loc, stage.countName, Extent::tensor, builder.getF64Type(),
                       evaluator.emit.scalar(Value::ofNumber(0), loc));
  count.isInteger = true;
  count.bound = 0x1p53;
  states.push_back({nullptr, "", count, count, nullptr});
}

Value StageImporter::step(const Progress &progress, Location loc) {
  if (!progress.count)
    return progress.inputs.step();
  return evaluator.emit.binary(BinaryOperator::Add, *progress.count, Value::ofNumber(1), loc);
}

Value StageImporter::first(const Progress &progress, Location loc) {
  if (!progress.count)
    return progress.inputs.first();
  return evaluator.emit.binary(BinaryOperator::Equal, *progress.count, Value::ofNumber(0), loc);
}

Names StageImporter::inputNames(const Update &update, Progress &progress, bool isFinish) {
  Names inputs = names;
  for (const Identifier &input : update.inputs) {
    Location loc = evaluator.location(input);
    if (input.text == "param")
      inputs.add("param", isFinish ? *paramBefore : progress.param);
    else if (input.text == "grad")
      inputs.add("grad", isFinish ? *gradBefore : progress.grad);
    else if (input.text == "new_param")
      inputs.add("new_param", progress.newParam);
    else if (input.text == "step")
      inputs.add("step", step(progress, loc));
    else if (input.text == "first")
      inputs.add("first", first(progress, loc));
  }
  return inputs;
}

Value StageImporter::asElement(const Value &value, Location loc) {
  return Value::ofIr(Kind::Number, Extent::element, evaluator.emit.element(value, loc));
}

Value StageImporter::unlessHeld(const Value &old, const Value &value, Location loc) {
  if (!held)
    return value;
  Value condition = *held;
  condition.ir = evaluator.emit.flag(condition, loc);
  return evaluator.emit.select(condition, old, value, loc);
}

// At the first step, reads the initial value of a state that is computed then.
void StageImporter::readInitials(Progress &progress) {
  for (StateValue &state : states) {
    if (!state.initial)
      continue;
    Location loc = evaluator.location(state.declaration->name);
    Names inputs = scope;
    inputs.add("param", progress.param);
    inputs.add("grad", progress.grad);
    inputs.add("step", step(progress, loc));
    Value initial = evaluator.evaluate(*state.initial, inputs);
    if (initial.isError())
      continue;
    // The value exists at the tensor's first step; other tensors of the group may be at other
    // steps.
    Extent over = extentOf(*state.declaration);
    Extent extent = join(initial.extent, Extent::tensor);
    if (!isWithin(extent, over)) {
      diagnostics.report(DiagnosticKind::InitialExtent, state.initial->range,
                         state.declaration->name.text, describeFound(extent, over),
                         describeExtent(over));
      continue;
    }
    if (isTensorExtent(over))
      initial = Value::ofIr(Kind::Number, over, evaluator.emit.element(initial, loc));
    state.before = state.next =
        evaluator.emit.select(first(progress, loc), initial, state.before, loc);
    names.add(state.declaration->name.text, state.before);
  }
}

// Whether a `next` takes effect: its `when` holds and its state exists.
bool StageImporter::isActive(const Statement &statement) {
  for (const ResolvedState &state : stage.states)
    if (!state.exists(isMatrix) && state.declaration->name.text == statement.name.text)
      return false;
  if (!statement.when)
    return true;
  Names constants = stage.constants;
  constants.add("matrix", Value::ofBool(isMatrix));
  return evaluator.evaluate(*statement.when, constants).boolean;
}

void StageImporter::importStatements(const Update &update, Progress &progress, bool isFinish) {
  scope = inputNames(update, progress, isFinish);
  for (const Statement &statement : update.statements) {
    switch (statement.kind) {
    case StatementKind::Let: {
      Value value = evaluator.evaluate(*statement.value, scope);
      if (!value.isError())
        evaluator.nameResult(statement.name, value);
      scope.add(statement.name.text, value);
      break;
    }
    case StatementKind::Repeat:
      if (!evaluator.evaluate(*statement.repeat, scope))
        for (const Let &variable : statement.repeat->variables)
          scope.add(variable.name.text, Value());
      break;
    case StatementKind::Next:
      if (isActive(statement))
        importNext(statement, progress, isFinish);
      break;
    case StatementKind::Skip:
    case StatementKind::Hold:
      importCondition(statement, progress);
      break;
    case StatementKind::Probe:
      break;
    }
  }
}

std::optional<ImportedProbe> updraft::importProbe(Evaluator &evaluator, const Identifier &name,
                                                  const Expr &value, const Names &names,
                                                  DiagnosticEngine &diagnostics) {
  Value result = evaluator.evaluate(value, names);
  if (result.isError())
    return std::nullopt;
  if (!isWithin(result.extent, Extent::tensor)) {
    diagnostics.report(DiagnosticKind::ProbeExtent, value.range, name.text,
                       describeFound(result.extent, Extent::element));
    return std::nullopt;
  }
  ImportedProbe probe{nullptr, name, {}, {}};
  if (result.kind == Kind::Histogram)
    probe.bounds = result.list->numbers;
  for (const Value &each : result.counts ? llvm::ArrayRef(*result.counts) : llvm::ArrayRef(result))
    probe.values.push_back(evaluator.emit.scalar(each, evaluator.location(name)));
  return probe;
}

// Probes use what `next` gives, also further on in the text.
void StageImporter::importProbes(const Update &update, Progress &progress) {
  llvm::BumpPtrAllocator arena;
  llvm::StringSaver saver(arena);
  for (const Statement &statement : update.statements) {
    if (statement.kind != StatementKind::Probe)
      continue;
    // The last of several names counts.
    Names known{scope.file, {}};
    known.add("new_param", progress.newParam);
    addNext(known, saver, /*arePublic=*/false);
    llvm::append_range(known.values, scope.values);
    auto probe = importProbe(evaluator, statement.name, *statement.value, known, diagnostics);
    if (!probe)
      continue;
    probe->stage = &stage;
    progress.probes.push_back(*probe);
  }
}

void StageImporter::addPublic(Names &known) const {
  for (const ResolvedParameter &parameter : stage.parameters)
    known.add(parameter.name, *names.find(parameter.declaration->name.text));
  for (const ResolvedState &state : stage.states)
    if (const Value *value = names.find(state.declaration->name.text))
      known.add(state.name, *value);
}

void StageImporter::addNext(Names &known, llvm::StringSaver &saver, bool arePublic) const {
  for (const ResolvedState &state : stage.states) {
    StringRef local = state.declaration->name.text;
    StringRef name = saver.save("new_" + (arePublic ? StringRef(state.name) : local));
    const auto found = llvm::find_if(
        states, [&](const StateValue &value) { return value.declaration == state.declaration; });
    if (found != states.end())
      known.add(name, found->next);
    else if (const Value *absent = names.find(local))
      known.add(name, *absent);
  }
}

void StageImporter::importNext(const Statement &statement, Progress &progress, bool isFinish) {
  Value value = evaluator.evaluate(*statement.value, scope);
  if (value.isError())
    return;
  StringRef name = statement.name.text;
  Location loc = evaluator.location(statement.value->range);
  auto addWrite = [&](StringRef written) {
    progress.writes.push_back(evaluator.location(Identifier{written, statement.name.range}));
  };
  if ((name == "grad" || name == "param") && !isWithin(value.extent, Extent::element)) {
    diagnostics.report(DiagnosticKind::NextExtent, statement.value->range, name,
                       describeExtent(Extent::element),
                       describeFound(value.extent, Extent::element));
    return;
  }
  if (name == "grad") {
    progress.grad = asElement(value, loc);
    return;
  }
  if (name == "param") {
    Value element = asElement(value, loc);
    bool isBefore = stage.rule->isTransform && !stage.rule->isAfter() && !isFinish;
    Value &param = isBefore ? progress.param : progress.newParam;
    param = unlessHeld(param, element, loc);
    addWrite(name);
    return;
  }
  for (StateValue &state : states) {
    if (!state.declaration || state.declaration->name.text != name)
      continue;
    addWrite(state.name);
    Extent over = extentOf(*state.declaration);
    // If the stage is held, the value also depends on that.
    if (held)
      value = unlessHeld(state.before, value, loc);
    if (isWithin(value.extent, over))
      state.next = value;
    else
      diagnostics.report(DiagnosticKind::NextExtent, statement.value->range, name,
                         describeExtent(over), describeFound(value.extent, over));
  }
}

// Imports `skip` and `hold`. A stage that is held cannot skip the step.
void StageImporter::importCondition(const Statement &statement, Progress &progress) {
  Value condition = evaluator.evaluate(*statement.value, scope);
  if (condition.isError() || (condition.isConstant() && !condition.boolean))
    return;
  Location loc = evaluator.location(statement.value->range);
  if (condition.isTensor()) {
    diagnostics.report(DiagnosticKind::ConditionExtent, statement.value->range, statement.name.text,
                       describe(condition.type()));
    return;
  }
  Emitter &emit = evaluator.emit;
  bool isHold = statement.kind == StatementKind::Hold;
  if (!isHold && !progress.skipOfTensor && !isWithin(condition.extent, Extent::group))
    progress.skipOfTensor = statement.value->range;
  if (held && !isHold)
    condition = emit.binary(BinaryOperator::And, condition,
                            emit.unary(UnaryOperator::Not, *held, loc), loc);
  std::optional<Value> &all = isHold ? holdsLater : progress.skip;
  all = all ? emit.binary(BinaryOperator::Or, *all, condition, loc) : condition;
}

void StageImporter::importUpdate(Progress &progress) {
  evaluator.setCalls(stage.calls);
  held = progress.held;
  paramBefore = progress.param;
  gradBefore = progress.grad;
  countBefore = progress.count;
  if (!stage.rule->isTransform) {
    progress.newParam = progress.param;
    progress.ruleGrad = progress.grad;
  }
  scope = names;
  readInitials(progress);
  if (!stage.rule->update)
    return;
  importStatements(*stage.rule->update, progress, /*isFinish=*/false);
  // A probe uses the next values of states, which `finish` may give.
  if (stage.rule->finish)
    updateScope = scope;
  else
    importProbes(*stage.rule->update, progress);
  if (!holds())
    return;
  // From here on, the step count increases only if no stage holds.
  StateValue &count = states.back();
  Location loc = evaluator.location(stage.rule->name.range);
  if (holdsLater)
    progress.held =
        held ? evaluator.emit.binary(BinaryOperator::Or, *held, *holdsLater, loc) : *holdsLater;
  std::swap(held, progress.held);
  Value next = evaluator.emit.binary(BinaryOperator::Add, count.before, Value::ofNumber(1), loc);
  count.next = unlessHeld(count.before, next, loc);
  std::swap(held, progress.held);
  progress.count = count.before;
}

// `finish` has the inputs that `update` had, except for `new_param`.
void StageImporter::importFinish(Progress &progress) {
  if (!stage.rule->finish)
    return;
  evaluator.setCalls(stage.calls);
  std::swap(progress.count, countBefore);
  importStatements(*stage.rule->finish, progress, /*isFinish=*/true);
  std::swap(progress.count, countBefore);
  if (stage.rule->update) {
    std::swap(scope, updateScope);
    importProbes(*stage.rule->update, progress);
    std::swap(scope, updateScope);
  }
  importProbes(*stage.rule->finish, progress);
}

void StageImporter::appendNext(llvm::SmallVectorImpl<mlir::Value> &values) const {
  evaluator.setCalls(stage.calls);
  for (const StateValue &state : states) {
    Location loc = evaluator.location(state.declaration ? state.declaration->name.range
                                                        : stage.rule->name.range);
    bool isTensor = !state.declaration ? false : isTensorExtent(extentOf(*state.declaration));
    values.push_back(isTensor ? evaluator.emit.element(state.next, loc)
                              : evaluator.emit.scalar(state.next, loc));
  }
}
