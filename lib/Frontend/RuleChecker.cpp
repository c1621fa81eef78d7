//===- RuleChecker.cpp - The declarations and the update of a rule ----------------------------===//

#include "Chain.h"
#include "Checker.h"
#include "Message.h"

#include "updraft/Frontend/Parser.h"
#include "updraft/Frontend/Token.h"

#include "llvm/ADT/ScopeExit.h"

using namespace updraft;
using llvm::StringRef;

namespace {
// Whether the name has a special meaning, so that a rule may not use it for another value.
bool isReserved(const Rule &rule, StringRef name) {
  return llvm::is_contained(updateInputs(rule.isTransform), name) || name == "matrix";
}

// The same for the name of a hyperparameter or a state, which probes use too. There the value of a
// state `m` after the step is `new_m`.
bool isReservedDeclaration(const Rule &rule, StringRef name) {
  return isReserved(rule, name) || name == "new_param" ||
         (name.consume_front("new_") &&
          llvm::any_of(rule.states, [&](const State &state) { return state.name.text == name; }));
}

// Returns the names that `next` may assign.
llvm::SmallVector<StringRef> nextNames(const Rule &rule, const Update &update) {
  llvm::SmallVector<StringRef> names{"param"};
  if (rule.isTransform && !rule.isAfter() && &update == &*rule.update)
    names.push_back("grad");
  for (const State &state : rule.states)
    names.push_back(state.name.text);
  return names;
}
} // namespace

void Checker::checkRule(const Rule &rule) {
  if (!rule.chain.empty()) {
    (void)flattenChain(rule, diagnostics);
    for (const StageCall &stage : rule.chain) {
      noteStage(stage, *rule.file);
      for (const StageCall::Argument &argument : stage.arguments)
        if (!findName(*argument.value))
          (void)check(*argument.value, Scope{rule.file, {}});
    }
    return;
  }
  unknownNames.clear();
  Scope parameters{rule.file, {}};
  for (const Parameter &parameter : rule.parameters)
    checkParameter(rule, parameter, parameters);
  for (const Requirement &requirement : rule.requirements)
    checkRequirement(requirement, parameters);
  if (rule.states.size() > maxStates)
    diagnostics.report(DiagnosticKind::TooManyStates, rule.states[maxStates].name.range,
                       rule.name.text, rule.states.size(), maxStates);
  Scope statics = parameters;
  statics.bindings.push_back({"matrix", {Kind::Bool, Extent::model}, {}});
  for (const State &state : rule.states)
    checkState(state, statics);
  std::vector<const Statement *> nexts, probes;
  if (rule.update)
    checkUpdate(rule, *rule.update, statics, nexts, probes);
  else if (!rule.finish)
    diagnostics.report(DiagnosticKind::MissingUpdate, rule.name.range,
                       rule.isTransform ? "transform" : "rule", rule.name.text);
  if (rule.finish) {
    if (rule.isAfter())
      diagnostics.report(DiagnosticKind::FinishAfterRule, rule.finish->range);
    checkUpdate(rule, *rule.finish, statics, nexts, probes);
  }
  if (probes.size() > maxProbes)
    diagnostics.report(DiagnosticKind::TooManyProbes, probes[maxProbes]->name.range, rule.name.text,
                       probes.size(), maxProbes);
}

void Checker::noteStage(const StageCall &stage, const ParsedFile &file) {
  const Rule *called = file.stages.lookup(stage.name.text);
  if (!index || !called)
    return;
  index->addUse(stage.name.range, called->name.range);
  for (const StageCall::Argument &argument : stage.arguments)
    for (const Parameter &parameter : called->parameters)
      if (argument.name && argument.name->text == parameter.name.text)
        index->addUse(argument.name->range, parameter.name.range);
}

void Checker::checkParameter(const Rule &rule, const Parameter &parameter, Scope &scope) {
  const Identifier &name = parameter.name;
  if (isReservedDeclaration(rule, name.text) || name.text == "state")
    diagnostics.report(DiagnosticKind::ReservedName, name.range, name.text);
  if (parameter.isStatic) {
    Type type = check(*parameter.initial, scope);
    declare(scope, name, {type.kind, Extent::model, type.width});
    return;
  }
  Type declared{Kind::Number, Extent::group};
  if (const Expr *used = findName(*parameter.initial)) {
    diagnostics.report(DiagnosticKind::DefaultNotConstant, used->range, name.text, used->text);
  } else if (Type type = check(*parameter.initial, scope); !type.is(Kind::Number)) {
    diagnostics.report(DiagnosticKind::DefaultType, parameter.initial->range, name.text,
                       describe(type));
    declared = Type();
  }
  declare(scope, name, declared);
}

void Checker::checkRequirement(const Requirement &requirement, const Scope &scope) {
  Type type = check(*requirement.condition, scope);
  if (!type.is(Kind::Bool))
    diagnostics.report(DiagnosticKind::RequireType, requirement.condition->range, describe(type));
  auto pieces = splitMessage(*requirement.message);
  if (!pieces) {
    StringRef text = requirement.message->text;
    diagnostics.report(DiagnosticKind::InvalidMessage, requirement.message->range,
                       text.contains('{') ? "{" : "}");
    return;
  }
  for (const MessagePiece &piece : *pieces) {
    const Binding *binding = piece.isName ? scope.find(piece.text) : nullptr;
    if (!piece.isName || (binding && !index))
      continue;
    SourceRange range = requirement.message->range;
    size_t offset = range.text().find("{" + piece.text + "}");
    if (offset != StringRef::npos)
      range = {range.file, static_cast<uint32_t>(range.begin + offset + 1),
               static_cast<uint32_t>(range.begin + offset + 1 + piece.text.size())};
    if (binding) {
      index->addUse(range, binding->declared);
      continue;
    }
    llvm::SmallVector<StringRef> names;
    for (const Binding &known : scope.bindings)
      names.push_back(known.name);
    diagnostics.report(DiagnosticKind::UnknownName, range, piece.text,
                       didYouMean(piece.text, names));
  }
}

void Checker::checkState(const State &state, const Scope &statics) {
  Scope scope = statics;
  for (StringRef input : {"param", "grad"})
    scope.bindings.push_back({input, {Kind::Number, Extent::element}, {}});
  scope.bindings.push_back({"step", {Kind::Number, Extent::tensor}, {}});
  context = Context::Update;
  llvm::scope_exit leave([this] { context = Context::Constant; });
  Type type = check(*state.initial, scope);
  if (!type.is(Kind::Number))
    diagnostics.report(DiagnosticKind::InitialType, state.initial->range, describe(type));
  checkWhen(state.when, statics);
}

void Checker::checkWhen(const Expr *when, const Scope &statics) {
  if (!when)
    return;
  Type type = check(*when, statics);
  if (type.isUnknown())
    return;
  if (type.kind != Kind::Bool)
    diagnostics.report(DiagnosticKind::WhenNotStatic, when->range, describe(type));
  else if (type.extent != Extent::model)
    diagnostics.report(DiagnosticKind::WhenNotStatic, when->range,
                       "a condition on hyperparameters");
}

// Suggests what the user meant by listing a wrong input.
static std::string inputHint(const Rule &rule, StringRef name) {
  if (name == "new_param")
    return "; only a transform has it";
  bool isKnown =
      name == "matrix" ||
      llvm::any_of(rule.parameters, [&](const Parameter &p) { return p.name.text == name; }) ||
      llvm::any_of(rule.states, [&](const State &s) { return s.name.text == name; });
  return isKnown ? "; it is known without being listed"
                 : didYouMean(name, updateInputs(rule.isTransform));
}

void Checker::checkUpdate(const Rule &rule, const Update &update, const Scope &statics,
                          std::vector<const Statement *> &nexts,
                          std::vector<const Statement *> &probes) {
  Scope scope = statics;
  scope.update = &update;
  context = Context::Update;
  llvm::scope_exit leave([this] { context = Context::Constant; });
  llvm::ArrayRef<StringRef> inputs = updateInputs(rule.isTransform);
  auto typeOf = [](StringRef input) {
    bool isScalar = input == "step" || input == "first";
    return Type{input == "first" ? Kind::Bool : Kind::Number,
                isScalar ? Extent::tensor : Extent::element};
  };
  llvm::SmallVector<Identifier> meant;
  for (const Identifier &input : update.inputs) {
    if (!llvm::is_contained(inputs, input.text)) {
      diagnostics.report(DiagnosticKind::UnknownInput, input.range, input.text,
                         quotedList(inputs, "and"), inputHint(rule, input.text));
      // Declares the input, so that its uses are not reported too.
      if (!scope.find(input.text))
        declare(scope, input, Type());
      if (StringRef near = nearestName(input.text, inputs); !near.empty())
        meant.push_back({near, input.range});
      continue;
    }
    declare(scope, input, typeOf(input.text));
  }
  // Also declares a misspelled input by its correct name.
  for (const Identifier &input : meant)
    if (!scope.find(input.text))
      bind(scope, input, typeOf(input.text));
  for (const State &state : rule.states) {
    if (isReservedDeclaration(rule, state.name.text))
      diagnostics.report(DiagnosticKind::ReservedName, state.name.range, state.name.text);
    else
      declare(scope, state.name, {Kind::Number, extentOf(state)});
  }
  size_t before = nexts.size(), written = 0;
  for (const Statement &statement : update.statements) {
    switch (statement.kind) {
    case StatementKind::Next:
      ++written;
      checkNext(rule, update, statement, scope, statics, nexts);
      break;
    case StatementKind::Probe:
      checkProbe(rule, update, statement, scope, probes);
      break;
    case StatementKind::Skip:
    case StatementKind::Hold:
      checkCondition(rule, update, statement, scope);
      break;
    case StatementKind::Repeat: {
      Scope names = scope;
      declareLets({{{}, nullptr, statement.repeat}}, names);
      checkRepeat(*statement.repeat, scope);
      break;
    }
    case StatementKind::Let:
      if (isReserved(rule, statement.name.text))
        diagnostics.report(DiagnosticKind::ReservedName, statement.name.range, statement.name.text);
      else
        declare(scope, statement.name, check(*statement.value, scope));
      break;
    }
  }
  // An unknown name after `next` was reported, and may have been meant as `param`.
  if (!rule.isTransform && nexts.size() - before == written &&
      llvm::none_of(nexts, [](const Statement *next) { return next->name.text == "param"; }))
    diagnostics.report(DiagnosticKind::MissingNextParam, rule.name.range, rule.name.text);
}

void Checker::checkNext(const Rule &rule, const Update &update, const Statement &statement,
                        const Scope &scope, const Scope &statics,
                        std::vector<const Statement *> &nexts) {
  StringRef name = statement.name.text;
  llvm::SmallVector<StringRef> names = nextNames(rule, update);
  bool isState = llvm::any_of(rule.states, [&](const State &s) { return s.name.text == name; });
  if (!llvm::is_contained(names, name)) {
    if (scope.find(name) || isNewlyUnknown(name))
      diagnostics.report(DiagnosticKind::NotAState, statement.name.range, name,
                         llvm::is_contained(names, "grad") ? "`param`, `grad`" : "`param`",
                         didYouMean(name, names));
  } else {
    // `update` and `finish` may each change the parameter.
    bool isInFinish = rule.finish && &update == &*rule.finish;
    for (const Statement *other : nexts)
      if (other->name.text == name &&
          (isState || !isInFinish ||
           llvm::any_of(update.statements, [&](const Statement &s) { return &s == other; })))
        diagnostics.report(DiagnosticKind::DuplicateNext, statement.name.range, name)
            .note(DiagnosticKind::FirstNext, other->name.range);
    nexts.push_back(&statement);
    if (const Binding *binding = scope.find(name); binding && index)
      index->addUse(statement.name.range, binding->declared);
  }
  Type type = check(*statement.value, scope);
  if (!type.is(Kind::Number))
    diagnostics.report(DiagnosticKind::NextType, statement.value->range, name, describe(type));
  checkWhen(statement.when, statics);
}

// Checks a probe. It also knows the values after the step: `new_param`, and `new_` before the name
// of a state, unless something declared has that name.
void Checker::checkProbe(const Rule &rule, const Update &update, const Statement &statement,
                         const Scope &scope, std::vector<const Statement *> &probes) {
  for (const Statement *other : probes)
    if (other->name.text == statement.name.text)
      diagnostics.report(DiagnosticKind::DuplicateProbe, statement.name.range, statement.name.text)
          .note(DiagnosticKind::FirstNext, other->name.range);
  probes.push_back(&statement);
  Scope known = scope;
  auto addNew = [&](StringRef name, Type type) {
    StringRef text = savedNames.save("new_" + name);
    if (!known.find(text))
      known.bindings.push_back({text, type, {}});
  };
  bool isBefore = rule.isTransform && !rule.isAfter() && rule.update && &update == &*rule.update;
  if (!isBefore)
    addNew("param", {Kind::Number, Extent::element});
  for (const State &state : rule.states)
    addNew(state.name.text, {Kind::Number, extentOf(state)});
  checkProbe(statement.name, *statement.value, known);
}

void Checker::checkProbe(const Identifier &name, const Expr &value, const Scope &scope) {
  Type type = check(value, scope);
  if (!type.is(Kind::Number) && type.kind != Kind::Histogram)
    diagnostics.report(DiagnosticKind::ProbeType, value.range, name.text, describe(type),
                       type.kind == Kind::Bool ? "; write `if … then 1 else 0`" : "");
}

void Checker::checkProbe(const Identifier &name, const Expr &value, const ParsedFile &file,
                         llvm::ArrayRef<std::pair<StringRef, Type>> known) {
  Scope scope{&file, {}};
  for (auto [text, type] : known)
    scope.bindings.push_back({text, type, {}});
  context = Context::Update;
  llvm::scope_exit leave([this] { context = Context::Constant; });
  checkProbe(name, value, scope);
}

// Checks the condition of `skip` or `hold`.
void Checker::checkCondition(const Rule &rule, const Update &update, const Statement &statement,
                             const Scope &scope) {
  bool isBefore = rule.isTransform && !rule.isAfter() && rule.update && &update == &*rule.update;
  if (statement.kind == StatementKind::Hold && !isBefore)
    diagnostics.report(DiagnosticKind::HoldOutsideTransform, statement.name.range);
  Type type = check(*statement.value, scope);
  if (!type.is(Kind::Bool))
    diagnostics.report(DiagnosticKind::ConditionType, statement.value->range, describe(type));
}
