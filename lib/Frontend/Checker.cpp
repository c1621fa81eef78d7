//===- Checker.cpp - Types of expressions and functions ---------------------------------------===//

#include "Checker.h"

#include "MatrixShapes.h"
#include "StandardLibrary.h"
#include "StaticList.h"

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
  if (findBuiltin(function.name.text) || findRuleFunction(function.name.text) ||
      findListFunction(function.name.text))
    diagnostics.report(DiagnosticKind::ReservedName, function.name.range, function.name.text);
  isGeneric = true;
  Scope names{function.file, {}};
  for (const Identifier &parameter : function.parameters)
    declare(names, parameter, Type());
  declareLets(function.lets, names);
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
  case ExprKind::List:
    return checkList(expr, scope);
  case ExprKind::Tuple:
    diagnostics.report(DiagnosticKind::TupleOutsideList, expr.range);
    return Type();
  }
  return Type();
}

Type Checker::checkList(const Expr &expr, const Scope &scope) {
  if (expr.operands.empty()) {
    diagnostics.report(DiagnosticKind::EmptyList, expr.range);
    return Type();
  }
  Type list{Kind::List, Extent::model, 0};
  for (const Expr *element : expr.operands) {
    bool isTuple = element->kind == ExprKind::Tuple;
    llvm::ArrayRef<const Expr *> parts = isTuple ? element->operands : llvm::ArrayRef(element);
    for (const Expr *part : parts)
      if (Type type = check(*part, scope);
          !type.is(Kind::Number) || !isWithin(type.extent, Extent::model)) {
        diagnostics.report(DiagnosticKind::ListElement, part->range, describe(type));
        return Type();
      }
    if (list.width == 0)
      list.width = parts.size();
    if (parts.size() != list.width) {
      diagnostics.report(DiagnosticKind::TupleLengths, element->range, list.width, parts.size());
      return Type();
    }
  }
  return list;
}

Type Checker::checkListFunction(const Expr &expr, llvm::ArrayRef<Type> arguments) {
  auto refuse = [&](size_t index, StringRef wanted) {
    diagnostics.report(DiagnosticKind::ListArgument, expr.operands[index]->range, expr.text, wanted,
                       describe(arguments[index]));
    return Type();
  };
  if (arguments.size() != 2) {
    reportArgumentCount(expr, "2 arguments", nullptr);
    return Type();
  }
  if (!arguments[0].is(Kind::List))
    return refuse(0, "a list");
  if (!arguments[1].is(Kind::Number) || !isWithin(arguments[1].extent, Extent::model))
    return refuse(1, "a static number");
  return arguments[0];
}

Extent Checker::joined(const Expr &expr, StringRef op, llvm::ArrayRef<Type> operands) {
  auto extents = llvm::map_to_vector<3>(operands, [](Type type) { return type.extent; });
  return joinShapes(diagnostics, expr, op, extents).value_or(Extent::element);
}

Type Checker::checkProduct(const Expr &expr, StringRef op, Type left, Type right,
                           bool isSymmetric) {
  if (!operandIs(*expr.operands[0], left, Kind::Number, op) ||
      !operandIs(*expr.operands[1], right, Kind::Number, op) || left.isUnknown() ||
      right.isUnknown() || context == Context::Function)
    return Type();
  auto extent = productShape(diagnostics, expr, op, left.extent, right.extent, isSymmetric);
  return extent ? Type{Kind::Number, *extent} : Type();
}

void Checker::declareLets(llvm::ArrayRef<Let> lets, Scope &scope) {
  for (const Let &let : lets) {
    if (!let.repeat) {
      declare(scope, let.name, Type());
      continue;
    }
    for (const Let &variable : let.repeat->variables)
      declare(scope, variable.name, Type());
    Scope inner = scope;
    for (const Identifier &item : let.repeat->items)
      declare(inner, item, Type());
    declareLets(let.repeat->lets, inner);
  }
}

void Checker::checkLets(llvm::ArrayRef<Let> lets, Scope &scope) {
  for (const Let &let : lets)
    if (let.repeat)
      checkRepeat(*let.repeat, scope);
    else
      bind(scope, let.name, check(*let.value, scope));
}

static std::string itemCount(size_t count) {
  return count == 1 ? "1 part" : (llvm::Twine(count) + " parts").str();
}

void Checker::checkRepeat(const Repeat &repeat, Scope &scope) {
  Type list = check(*repeat.list, scope);
  if (!list.is(Kind::List))
    diagnostics.report(DiagnosticKind::RepeatList, repeat.list->range, describe(list));
  else if (list.width != 0 && list.width != repeat.items.size())
    diagnostics.report(DiagnosticKind::RepeatItems,
                       repeat.items.front().range.to(repeat.items.back().range),
                       itemCount(list.width), itemCount(repeat.items.size()) + " here");
  std::vector<Type> types;
  for (const Let &variable : repeat.variables)
    types.push_back(check(*variable.value, scope));
  // The first pass over the list may change the extent of a value, as from a scalar to a tensor.
  for (unsigned pass = 0; pass < 2; ++pass) {
    Scope inner = scope;
    for (auto [variable, type] : llvm::zip(repeat.variables, types))
      bind(inner, variable.name, type);
    for (const Identifier &item : repeat.items)
      bind(inner, item, {Kind::Number, Extent::model});
    size_t before = diagnostics.diagnostics().size();
    checkLets(repeat.lets, inner);
    std::vector<const Let *> seen;
    for (const Let &next : repeat.nexts) {
      Type type = check(*next.value, inner);
      auto variable = llvm::find_if(
          repeat.variables, [&](const Let &other) { return other.name.text == next.name.text; });
      if (variable == repeat.variables.end()) {
        llvm::SmallVector<StringRef> names;
        for (const Let &other : repeat.variables)
          names.push_back(other.name.text);
        diagnostics.report(DiagnosticKind::RepeatNext, next.name.range, next.name.text,
                           quotedList(names, "and"));
        continue;
      }
      if (index)
        index->addUse(next.name.range, variable->name.range);
      for (const Let *other : seen)
        if (other->name.text == next.name.text)
          diagnostics.report(DiagnosticKind::DuplicateNext, next.name.range, next.name.text)
              .note(DiagnosticKind::FirstNext, other->name.range);
      seen.push_back(&next);
      if (!type.is(Kind::Number))
        diagnostics.report(DiagnosticKind::NextType, next.value->range, next.name.text,
                           describe(type));
      types[variable - repeat.variables.begin()] = type.is(Kind::Number) ? type : Type();
    }
    if (diagnostics.diagnostics().size() != before)
      break;
  }
  for (auto [variable, type] : llvm::zip(repeat.variables, types))
    bind(scope, variable.name, type);
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
  if (name.consume_front("new_") && scope.find(name))
    return "; only a probe knows the value after the step";
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
  } else if (findBuiltin(expr.text) || findRuleFunction(expr.text) || findListFunction(expr.text) ||
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
  if (expr.binary == BinaryOperator::MatrixProduct)
    return checkProduct(expr, spelling(expr.binary), left, right, /*isSymmetric=*/false);
  Extent extent = joined(expr, spelling(expr.binary), {left, right});
  switch (expr.binary) {
  case BinaryOperator::Equal:
  case BinaryOperator::NotEqual:
    if (!left.isUnknown() && !right.isUnknown() &&
        (left.kind != right.kind || left.kind == Kind::List || left.kind == Kind::Histogram))
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
  return {Kind::Number, joined(expr, "^", {base, exponent})};
}

Type Checker::checkIf(const Expr &expr, const Scope &scope) {
  Type condition = check(*expr.operands[0], scope);
  Type whenTrue = check(*expr.operands[1], scope);
  Type whenFalse = check(*expr.operands[2], scope);
  if (!condition.is(Kind::Bool))
    diagnostics.report(DiagnosticKind::ConditionType, expr.operands[0]->range, describe(condition));
  // Only one of the branches may be chosen, and the evaluator knows which. Until then, the extent
  // of branches of different shapes is inconsistent.
  Extent branches = join(whenTrue.extent, whenFalse.extent);
  if (whenTrue.isUnknown() || whenFalse.isUnknown())
    return {Kind::Unknown, branches};
  if (whenTrue.kind != whenFalse.kind || whenTrue.width != whenFalse.width) {
    diagnostics.report(DiagnosticKind::BranchTypes, expr.focus, describe(whenTrue),
                       describe(whenFalse));
    return Type();
  }
  bool isSelected = whenTrue.kind == Kind::Number || whenTrue.kind == Kind::Bool;
  if (!isSelected && condition.extent != Extent::model) {
    diagnostics.report(DiagnosticKind::StringChoice, expr.operands[0]->range, describe(whenTrue));
    return Type();
  }
  return {whenTrue.kind, join(condition.extent, branches), whenTrue.width};
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
  if (findListFunction(expr.text))
    return checkListFunction(expr, arguments);
  const Builtin *builtin = findBuiltin(expr.text);
  const RuleFunction *ruleFunction = findRuleFunction(expr.text, count);
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
    llvm::append_range(names, listFunctionNames);
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
  if (function.kind == RuleFunctionKind::Product)
    return checkProduct(expr, function.name, arguments[0], arguments[1],
                        function.product.isSymmetric);
  if (function.kind == RuleFunctionKind::Histogram)
    return checkHistogram(expr, function, arguments);
  Extent extent = Extent::model;
  for (auto [operand, type] : llvm::zip(expr.operands, arguments)) {
    if (!operandIs(*operand, type, Kind::Number, function.name))
      return Type();
    extent = join(extent, type.isUnknown() ? Extent::element : type.extent);
  }
  if (function.kind == RuleFunctionKind::SizeOf) {
    if (!arguments[0].isUnknown() && context != Context::Function)
      checkMatrix(diagnostics, *expr.operands[0], function.name, extent);
    return {Kind::Number, Extent::tensor};
  }
  if (function.kind == RuleFunctionKind::Transpose || function.kind == RuleFunctionKind::Identity) {
    if (arguments[0].isUnknown() || context == Context::Function ||
        !checkMatrix(diagnostics, *expr.operands[0], function.name, extent))
      return Type();
    return {Kind::Number, function.kind == RuleFunctionKind::Transpose ? transposed(extent)
                                                                       : squareOfRows(extent)};
  }
  if (function.kind == RuleFunctionKind::Largest) {
    const Extent values = arguments[0].extent;
    return values == Extent::row || values == Extent::column ? Type{Kind::Number, values} : Type();
  }
  if (function.isOfWholeMatrices()) {
    if (arguments[0].isUnknown() || context == Context::Function ||
        !checkMatrix(diagnostics, *expr.operands[0], function.name, arguments[0].extent))
      return Type();
    // A choice that isn't made yet may be between shapes.
    const bool isKnown = (function.takesSquare() ? isSquareExtent(arguments[0].extent)
                                                 : isInMemoryExtent(arguments[0].extent)) &&
                         (function.arity == 1 || isInMemoryExtent(arguments[1].extent));
    return isKnown ? Type{Kind::Number,
                          extentOfResult(
                              function, llvm::map_to_vector(arguments,
                                                            [](Type type) { return type.extent; }))}
                   : Type();
  }
  // The extent may be too large here, because it includes branches that are not chosen.
  if (context == Context::Update && !canReduce(extent, function.over)) {
    diagnostics.report(DiagnosticKind::ReductionOperand, expr.operands[0]->range, function.name,
                       describe(Type{Kind::Number, extent}));
    return Type();
  }
  return {Kind::Number, function.kind == RuleFunctionKind::Count ? Extent::tensor : function.over};
}

Type Checker::checkHistogram(const Expr &expr, const RuleFunction &function,
                             llvm::ArrayRef<Type> arguments) {
  Type values = arguments[0], bounds = arguments[1];
  if (!operandIs(*expr.operands[0], values, Kind::Number, function.name))
    return Type();
  if (!bounds.is(Kind::List) || bounds.width > 1) {
    diagnostics.report(DiagnosticKind::ListArgument, expr.operands[1]->range, function.name,
                       "a static list of numbers", describe(bounds));
    return Type();
  }
  if (context == Context::Update && !values.isUnknown() &&
      !canReduce(values.extent, function.over)) {
    diagnostics.report(DiagnosticKind::ReductionOperand, expr.operands[0]->range, function.name,
                       describe(values));
    return Type();
  }
  return {Kind::Histogram, Extent::tensor};
}

Type Checker::checkBuiltin(const Expr &expr, const Builtin &builtin,
                           llvm::ArrayRef<Type> arguments) {
  for (auto [operand, type] : llvm::zip(expr.operands, arguments))
    operandIs(*operand, type, Kind::Number, builtin.name);
  return {Kind::Number, joined(expr, builtin.name, arguments)};
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
    noteCall(diagnostics, before, expr);
  return result;
}

Type Checker::checkBody(const Function &function, const std::vector<Type> &arguments) {
  Signature signature{&function, context, {}};
  for (Type type : arguments)
    signature.arguments.emplace_back(type.kind, type.extent, type.width);
  auto known = checked.find(signature);
  if (known != checked.end())
    return known->second;

  inProgress.push_back(&function);
  Scope scope{function.file, {}};
  for (auto [parameter, type] : llvm::zip(function.parameters, arguments))
    bind(scope, parameter, type);
  checkLets(function.lets, scope);
  Type result = check(*function.result, scope);
  inProgress.pop_back();
  if (!exhausted)
    checked.emplace(std::move(signature), result);
  return result;
}
