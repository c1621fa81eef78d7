//===- Checker.cpp - Types of expressions and functions ---------------------------------------===//

#include "Checker.h"

#include "updraft/Frontend/Numerics.h"
#include "updraft/Frontend/Parser.h"

#include "llvm/ADT/StringExtras.h"

using namespace updraft;
using llvm::StringRef;

const Checker::Binding *Checker::Scope::find(StringRef name) const {
  for (const Binding &binding : llvm::reverse(bindings))
    if (binding.name == name)
      return &binding;
  static const Binding numerics{numericsName, {Kind::String, Extent::model}, {}};
  return name == numericsName ? &numerics : nullptr;
}

void Checker::check(const ParsedFile &file) {
  for (const Function &function : file.functions)
    checkFunction(function);
  llvm::StringMap<const Rule *> rules;
  for (const auto *declared : {&file.transforms, &file.rules})
    for (const Rule &rule : *declared) {
      if (!rule.name.text.empty() && !rules.try_emplace(rule.name.text, &rule).second)
        diagnostics.report(DiagnosticKind::DuplicateName, rule.name.range, rule.name.text)
            .note(DiagnosticKind::DeclaredHere, rules[rule.name.text]->name.range, rule.name.text);
      checkRule(rule);
    }
}

Type Checker::checkConstant(const Expr &expr, const ParsedFile &file) {
  return check(expr, Scope{&file, {}});
}

void Checker::checkFunction(const Function &function) {
  if (findBuiltin(function.name.text) || findRuleFunction(function.name.text))
    diagnostics.report(DiagnosticKind::ReservedName, function.name.range, function.name.text);
  isGeneric = true;
  Scope names{function.file, {}};
  for (const Identifier &parameter : function.parameters)
    declare(names, parameter, Type());
  for (const Let &let : function.lets)
    declare(names, let.name, Type());
  context = Context::Function;
  checkBody(function, std::vector<Type>(function.parameters.size()));
  context = Context::Constant;
  isGeneric = false;
}

void Checker::declare(Scope &scope, const Identifier &name, Type type) {
  if (const Binding *other = scope.find(name.text)) {
    if (other->declared.file)
      diagnostics.report(DiagnosticKind::DuplicateName, name.range, name.text)
          .note(DiagnosticKind::DeclaredHere, other->declared, name.text);
    else
      diagnostics.report(DiagnosticKind::ReservedName, name.range, name.text);
    return;
  }
  bind(scope, name, type);
}

void Checker::bind(Scope &scope, const Identifier &name, Type type) {
  scope.bindings.push_back({name.text, type, name.range});
  if (index)
    index->addType(name.range, describe(type), isGeneric);
}

Type Checker::check(const Expr &expr, const Scope &scope) {
  if (exhausted)
    return Type();
  if (++visits > maxVisits) {
    exhausted = true;
    diagnostics.report(DiagnosticKind::ExpansionTooLarge, calls ? outermostCall : expr.focus,
                       maxOperations, operationsOfFunction, operationsOfReduction);
    return Type();
  }
  if (depth == maxExpansionDepth) {
    exhausted = true;
    diagnostics.report(DiagnosticKind::CallsTooDeep, calls ? outermostCall : expr.focus,
                       maxExpansionDepth);
    return Type();
  }
  ++depth;
  Type type = checkInner(expr, scope);
  --depth;
  if (index)
    index->addType(expr.focus, describe(type), isGeneric);
  return type;
}

Type Checker::checkInner(const Expr &expr, const Scope &scope) {
  switch (expr.kind) {
  case ExprKind::Number:
    return {Kind::Number, Extent::model};
  case ExprKind::Bool:
    return {Kind::Bool, Extent::model};
  case ExprKind::String:
    return {Kind::String, Extent::model};
  case ExprKind::Name:
    return checkName(expr, scope);
  case ExprKind::Unary:
    return checkUnary(expr, scope);
  case ExprKind::Binary:
    return checkBinary(expr, scope);
  case ExprKind::If:
    return checkIf(expr, scope);
  case ExprKind::Call:
    return checkCall(expr, scope);
  }
  return Type();
}

bool Checker::isNewlyUnknown(StringRef name, bool isFunction) {
  const Function *owner = inProgress.empty() ? nullptr : inProgress.back();
  return unknownNames.insert({owner, isFunction, name}).second;
}

std::string Checker::whereItIsKnown(StringRef name, const Scope &scope) const {
  if (!inProgress.empty())
    return "; a function knows its parameters and its own values only";
  if (scope.update)
    for (const Statement &statement : scope.update->statements)
      if (statement.kind == StatementKind::Let && statement.name.text == name)
        return "; a value is known only after its `let`";
  return "";
}

Type Checker::checkName(const Expr &expr, const Scope &scope) {
  if (const Binding *binding = scope.find(expr.text)) {
    if (index)
      index->addUse(expr.range, binding->declared);
    return binding->type;
  }
  if (!isNewlyUnknown(expr.text))
    return Type();
  bool isInput = llvm::is_contained(updateInputs(/*isTransform=*/true), expr.text);
  std::string hint;
  if (isInput && scope.update) {
    hint = ("; add it to the inputs of `" + scope.update->range.text() + "`").str();
  } else if (isInput) {
    hint = "; it is known only in `update`, where it is listed";
  } else if (expr.text == "matrix") {
    hint = "; it is known only in states and in `update`";
  } else if (findBuiltin(expr.text) || findRuleFunction(expr.text) ||
             scope.file->visible.contains(expr.text)) {
    hint = "; a function is called with parentheses";
  } else if (expr.text == "True" || expr.text == "False") {
    hint = "; it is written `" + expr.text.lower() + "`";
  } else {
    llvm::SmallVector<StringRef> names{numericsName};
    for (const Binding &binding : scope.bindings)
      names.push_back(binding.name);
    hint = didYouMean(expr.text, names);
    if (hint.empty())
      hint = whereItIsKnown(expr.text, scope);
  }
  diagnostics.report(DiagnosticKind::UnknownName, expr.range, expr.text, hint);
  return Type();
}

bool Checker::operandIs(const Expr &operand, Type type, Kind kind, StringRef op) {
  if (type.is(kind))
    return true;
  diagnostics.report(
      DiagnosticKind::OperandType, operand.range, op, kind == Kind::Bool ? "bools" : "numbers",
      describe(type),
      kind == Kind::Number && type.kind == Kind::Bool ? "; write `if … then 1 else 0`" : "");
  return false;
}

Type Checker::checkUnary(const Expr &expr, const Scope &scope) {
  Kind kind = expr.unary == UnaryOperator::Not ? Kind::Bool : Kind::Number;
  Type operand = check(*expr.operands[0], scope);
  if (!operandIs(*expr.operands[0], operand, kind, spelling(expr.unary)))
    return Type();
  return {kind, operand.extent};
}

Type Checker::checkBinary(const Expr &expr, const Scope &scope) {
  const Expr &leftExpr = *expr.operands[0], &rightExpr = *expr.operands[1];
  Type left = check(leftExpr, scope);
  Type right = check(rightExpr, scope);
  Extent extent = join(left.extent, right.extent);
  switch (expr.binary) {
  case BinaryOperator::Equal:
  case BinaryOperator::NotEqual:
    if (!left.isUnknown() && !right.isUnknown() && left.kind != right.kind)
      diagnostics.report(DiagnosticKind::CompareTypes, expr.focus, describe(left), describe(right));
    return {Kind::Bool, extent};
  case BinaryOperator::Power:
    return checkPower(expr, left, right);
  default:
    break;
  }
  bool isLogic = expr.binary == BinaryOperator::And || expr.binary == BinaryOperator::Or;
  bool isArithmetic = expr.binary <= BinaryOperator::Divide;
  Kind operandKind = isLogic ? Kind::Bool : Kind::Number;
  operandIs(leftExpr, left, operandKind, spelling(expr.binary));
  operandIs(rightExpr, right, operandKind, spelling(expr.binary));
  return {isArithmetic ? Kind::Number : Kind::Bool, extent};
}

Type Checker::checkPower(const Expr &expr, Type base, Type exponent) {
  operandIs(*expr.operands[0], base, Kind::Number, "^");
  operandIs(*expr.operands[1], exponent, Kind::Number, "^");
  return {Kind::Number, join(base.extent, exponent.extent)};
}

Type Checker::checkIf(const Expr &expr, const Scope &scope) {
  Type condition = check(*expr.operands[0], scope);
  Type whenTrue = check(*expr.operands[1], scope);
  Type whenFalse = check(*expr.operands[2], scope);
  if (!condition.is(Kind::Bool))
    diagnostics.report(DiagnosticKind::ConditionType, expr.operands[0]->range, describe(condition));
  if (whenTrue.isUnknown() || whenFalse.isUnknown())
    return {Kind::Unknown, join(whenTrue.extent, whenFalse.extent)};
  if (whenTrue.kind != whenFalse.kind) {
    diagnostics.report(DiagnosticKind::BranchTypes, expr.focus, describe(whenTrue),
                       describe(whenFalse));
    return Type();
  }
  if (whenTrue.kind == Kind::String && condition.extent != Extent::model) {
    diagnostics.report(DiagnosticKind::StringChoice, expr.operands[0]->range);
    return Type();
  }
  return {whenTrue.kind, join(condition.extent, join(whenTrue.extent, whenFalse.extent))};
}

static std::string argumentCount(size_t count) {
  return llvm::Twine(count).concat(count == 1 ? " argument" : " arguments").str();
}

void Checker::reportArgumentCount(const Expr &call, StringRef count, const Function *function) {
  auto notes = diagnostics.report(DiagnosticKind::WrongArgumentCount, call.focus, call.text, count,
                                  call.operands.size());
  if (function)
    notes.note(DiagnosticKind::DeclaredHere, function->name.range, call.text);
}

Type Checker::checkCall(const Expr &expr, const Scope &scope) {
  std::vector<Type> arguments;
  for (const Expr *operand : expr.operands)
    arguments.push_back(check(*operand, scope));
  size_t count = arguments.size();
  const Builtin *builtin = findBuiltin(expr.text);
  const RuleFunction *ruleFunction = findRuleFunction(expr.text);
  if (builtin && builtin->arity == count)
    return checkBuiltin(expr, *builtin, arguments);
  if (ruleFunction && ruleFunction->arity == count)
    return checkRuleFunction(expr, *ruleFunction, arguments);
  if (builtin || ruleFunction) {
    reportArgumentCount(expr,
                        builtin && ruleFunction ? "1 or 2 arguments"
                        : builtin               ? argumentCount(builtin->arity)
                                                : argumentCount(ruleFunction->arity),
                        nullptr);
    return Type();
  }
  const Function *function = scope.file->visible.lookup(expr.text);
  if (!function && !isNewlyUnknown(expr.text, /*isFunction=*/true))
    return Type();
  if (!function) {
    llvm::SmallVector<StringRef> names;
    for (const Builtin &builtin : builtins())
      names.push_back(builtin.name);
    for (const RuleFunction &other : ruleFunctions())
      names.push_back(other.name);
    for (const auto &entry : scope.file->visible)
      names.push_back(entry.getKey());
    llvm::sort(names);
    std::string hint = scope.find(expr.text) ? "; it is a value, not a function"
                       : expr.text == "not"  ? "; it is written `!`"
                                             : didYouMean(expr.text, names);
    diagnostics.report(DiagnosticKind::UnknownFunction, expr.focus, expr.text, hint);
    return Type();
  }
  if (index)
    index->addUse(expr.focus, function->name.range);
  if (function->parameters.size() != count) {
    reportArgumentCount(expr, argumentCount(function->parameters.size()), function);
    return Type();
  }
  return checkFunctionCall(expr, *function, arguments);
}

Type Checker::checkRuleFunction(const Expr &expr, const RuleFunction &function,
                                llvm::ArrayRef<Type> arguments) {
  if (context == Context::Constant)
    diagnostics.report(DiagnosticKind::NoTensorsHere, expr.focus, expr.text);
  if (function.kind == RuleFunctionKind::Size)
    return {Kind::Number, function.over == Extent::group ? Extent::group : Extent::tensor};
  if (function.kind == RuleFunctionKind::Random)
    return {Kind::Number, Extent::element};
  Extent extent = Extent::model;
  for (auto [operand, type] : llvm::zip(expr.operands, arguments)) {
    if (!operandIs(*operand, type, Kind::Number, function.name))
      return Type();
    extent = join(extent, type.isUnknown() ? Extent::element : type.extent);
  }
  // The extent may be too large here, because it includes branches that are not chosen.
  if (context == Context::Update && !canReduce(extent, function.over)) {
    diagnostics.report(DiagnosticKind::ReductionOperand, expr.operands[0]->range, function.name,
                       describe(Type{Kind::Number, extent}));
    return Type();
  }
  return {Kind::Number, function.kind == RuleFunctionKind::Count ? Extent::tensor : function.over};
}

Type Checker::checkBuiltin(const Expr &expr, const Builtin &builtin,
                           llvm::ArrayRef<Type> arguments) {
  Extent extent = Extent::model;
  for (auto [operand, type] : llvm::zip(expr.operands, arguments)) {
    operandIs(*operand, type, Kind::Number, builtin.name);
    extent = join(extent, type.extent);
  }
  return {Kind::Number, extent};
}

Type Checker::checkFunctionCall(const Expr &expr, const Function &function,
                                const std::vector<Type> &arguments) {
  if (llvm::is_contained(inProgress, &function)) {
    diagnostics.report(DiagnosticKind::RecursiveFunction, expr.focus, expr.text)
        .note(DiagnosticKind::DeclaredHere, function.name.range, expr.text);
    return Type();
  }
  size_t before = diagnostics.diagnostics().size();
  if (calls++ == 0)
    outermostCall = expr.focus;
  Type result = checkBody(function, arguments);
  --calls;
  if (!exhausted)
    diagnostics.noteSince(before, DiagnosticKind::InCall, expr.focus, expr.text);
  return result;
}

Type Checker::checkBody(const Function &function, const std::vector<Type> &arguments) {
  Signature signature{&function, context, {}};
  for (Type type : arguments)
    signature.arguments.emplace_back(type.kind, type.extent);
  auto known = checked.find(signature);
  if (known != checked.end())
    return known->second;

  inProgress.push_back(&function);
  Scope scope{function.file, {}};
  for (auto [parameter, type] : llvm::zip(function.parameters, arguments))
    bind(scope, parameter, type);
  for (const Let &let : function.lets)
    bind(scope, let.name, check(*let.value, scope));
  Type result = check(*function.result, scope);
  inProgress.pop_back();
  if (!exhausted)
    checked.emplace(std::move(signature), result);
  return result;
}
