//===- RuleChecker.cpp - The declarations and the update of a rule ----------------------------===//

#include "Checker.h"
#include "Message.h"

#include "updraft/Frontend/Token.h"

using namespace updraft;
using llvm::StringRef;

namespace {
constexpr StringRef inputNames[] = {"param", "grad", "step", "first"};

// The first name in an expression, or null.
const Expr *findName(const Expr &expr) {
  if (expr.kind == ExprKind::Name)
    return &expr;
  for (const Expr *operand : expr.operands)
    if (const Expr *name = findName(*operand))
      return name;
  return nullptr;
}

/// Each is a stream of the kernel, and code generation takes time that grows faster than their
/// number.
constexpr size_t maxStates = 64;
} // namespace

void Checker::checkRule(const Rule &rule) {
  Scope parameters{rule.file, {}};
  for (const Parameter &parameter : rule.parameters)
    checkParameter(rule, parameter, parameters);
  for (const Requirement &requirement : rule.requirements)
    checkRequirement(requirement, parameters);
  if (rule.states.size() > maxStates)
    diagnostics.report(DiagnosticKind::TooManyStates, rule.states[maxStates].name.range,
                       rule.name.text, rule.states.size(), maxStates);
  for (const State &state : rule.states)
    checkState(state, parameters);
  if (rule.hasUpdate)
    checkUpdate(rule, parameters);
  else
    diagnostics.report(DiagnosticKind::MissingUpdate, rule.name.range, rule.name.text);
}

void Checker::checkParameter(const Rule &rule, const Parameter &parameter, Scope &scope) {
  const Identifier &name = parameter.name;
  if (llvm::is_contained(inputNames, name.text) || name.text == "state")
    diagnostics.report(DiagnosticKind::ReservedName, name.range, name.text);
  if (parameter.isStatic) {
    Type type = check(*parameter.initial, scope);
    declare(scope, name, {type.kind, Extent::model});
    return;
  }
  if (const Expr *used = findName(*parameter.initial)) {
    diagnostics.report(DiagnosticKind::DefaultNotConstant, used->range, name.text, used->text);
  } else {
    Type type = check(*parameter.initial, scope);
    if (!type.is(Kind::Number))
      diagnostics.report(DiagnosticKind::DefaultType, parameter.initial->range, name.text,
                         describe(type));
  }
  declare(scope, name, {Kind::Number, Extent::group});
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
    if (!piece.isName || scope.find(piece.text))
      continue;
    SourceRange range = requirement.message->range;
    size_t offset = range.text().find("{" + piece.text + "}");
    if (offset != StringRef::npos)
      range = {range.file, static_cast<uint32_t>(range.begin + offset + 1),
               static_cast<uint32_t>(range.begin + offset + 1 + piece.text.size())};
    llvm::SmallVector<StringRef> names;
    for (const Binding &binding : scope.bindings)
      names.push_back(binding.name);
    diagnostics.report(DiagnosticKind::UnknownName, range, piece.text,
                       didYouMean(piece.text, names));
  }
}

void Checker::checkState(const State &state, const Scope &parameters) {
  Type type = check(*state.initial, parameters);
  if (!type.is(Kind::Number))
    diagnostics.report(DiagnosticKind::InitialType, state.initial->range, describe(type));
  checkWhen(state.when, parameters);
}

void Checker::checkWhen(const Expr *when, const Scope &parameters) {
  if (!when)
    return;
  Type type = check(*when, parameters);
  if (type.isUnknown())
    return;
  if (type.kind != Kind::Bool)
    diagnostics.report(DiagnosticKind::WhenNotStatic, when->range, describe(type));
  else if (type.extent != Extent::model)
    diagnostics.report(DiagnosticKind::WhenNotStatic, when->range,
                       "a condition on hyperparameters");
}

void Checker::checkUpdate(const Rule &rule, const Scope &parameters) {
  Scope scope = parameters;
  scope.rule = &rule;
  for (const Identifier &input : rule.inputs) {
    if (!llvm::is_contained(inputNames, input.text)) {
      diagnostics.report(DiagnosticKind::UnknownInput, input.range, input.text,
                         didYouMean(input.text, inputNames));
      // Known from here on, so that its uses are not reported too.
      if (!scope.find(input.text))
        declare(scope, input, Type());
      continue;
    }
    bool isElement = input.text == "param" || input.text == "grad";
    declare(scope, input,
            {input.text == "first" ? Kind::Bool : Kind::Number,
             isElement ? Extent::element : Extent::tensor});
  }
  for (const State &state : rule.states) {
    if (llvm::is_contained(inputNames, state.name.text))
      diagnostics.report(DiagnosticKind::ReservedName, state.name.range, state.name.text);
    else
      declare(scope, state.name, {Kind::Number, Extent::element});
  }
  std::vector<const Statement *> nexts;
  for (const Statement &statement : rule.statements) {
    if (statement.isNext) {
      checkNext(rule, statement, scope, parameters, nexts);
      continue;
    }
    if (llvm::is_contained(inputNames, statement.name.text))
      diagnostics.report(DiagnosticKind::ReservedName, statement.name.range, statement.name.text);
    else
      declare(scope, statement.name, check(*statement.value, scope));
  }
  // A `next` of an unknown name was reported, and may have been meant for `param`.
  size_t written = llvm::count_if(rule.statements, [](const auto &s) { return s.isNext; });
  if (nexts.size() == written &&
      llvm::none_of(nexts, [](const Statement *next) { return next->name.text == "param"; }))
    diagnostics.report(DiagnosticKind::MissingNextParam, rule.name.range, rule.name.text);
}

void Checker::checkNext(const Rule &rule, const Statement &statement, const Scope &scope,
                        const Scope &parameters, std::vector<const Statement *> &nexts) {
  StringRef name = statement.name.text;
  llvm::SmallVector<StringRef> names{"param"};
  for (const State &state : rule.states)
    names.push_back(state.name.text);
  if (!llvm::is_contained(names, name)) {
    diagnostics.report(DiagnosticKind::NotAState, statement.name.range, name,
                       didYouMean(name, names));
  } else {
    for (const Statement *other : nexts)
      if (other->name.text == name)
        diagnostics.report(DiagnosticKind::DuplicateNext, statement.name.range, name)
            .note(DiagnosticKind::FirstNext, other->name.range);
    nexts.push_back(&statement);
  }
  Type type = check(*statement.value, scope);
  if (!type.is(Kind::Number))
    diagnostics.report(DiagnosticKind::NextType, statement.value->range, name, describe(type));
  checkWhen(statement.when, parameters);
}
