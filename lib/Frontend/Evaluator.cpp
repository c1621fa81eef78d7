//===- Evaluator.cpp - Evaluates expressions at import ----------------------------------------===//

#include "Evaluator.h"

#include "Checker.h"

#include "updraft/Frontend/Numerics.h"

using namespace updraft;
using llvm::StringRef;

const Value *Names::find(StringRef name) const {
  for (const auto &[other, value] : llvm::reverse(values))
    if (other == name)
      return &value;
  return nullptr;
}

mlir::Location Evaluator::location(SourceRange range) const {
  range = range.origin();
  LineColumn at = range.file->position(range.begin);
  return mlir::FileLineColLoc::get(context, range.file->path(), at.line, at.column);
}

mlir::Location Evaluator::location(const Identifier &name) const {
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name.text), location(name.range));
}

void Evaluator::nameResult(const Identifier &name, const Value &value) const {
  mlir::Operation *op = value.ir ? value.ir.getDefiningOp() : nullptr;
  if (op && !mlir::isa<mlir::NameLoc>(op->getLoc()))
    op->setLoc(mlir::NameLoc::get(mlir::StringAttr::get(context, name.text), op->getLoc()));
}

Value Evaluator::evaluate(const Expr &expr, const Names &names) {
  if (exhausted)
    return Value();
  if (++visits > maxVisits || emit.operationCount() > maxOperations) {
    exhausted = true;
    diagnostics.report(DiagnosticKind::ExpansionTooLarge, calls ? outermostCall : expr.focus,
                       maxOperations, operationsOfFunction, operationsOfReduction);
    return Value();
  }
  if (depth == maxExpansionDepth) {
    exhausted = true;
    diagnostics.report(DiagnosticKind::CallsTooDeep, calls ? outermostCall : expr.focus,
                       maxExpansionDepth);
    return Value();
  }
  ++depth;
  Value value = evaluateInner(expr, names);
  --depth;
  return value;
}

Value Evaluator::evaluateInner(const Expr &expr, const Names &names) {
  switch (expr.kind) {
  case ExprKind::Number:
    return Value::ofNumber(expr.number);
  case ExprKind::Bool:
    return Value::ofBool(expr.boolean);
  case ExprKind::String:
    if (!expr.text.contains('\\'))
      return Value::ofString(expr.text);
    return Value::ofString(llvm::StringSaver(arena).save(stringValue(expr)));
  case ExprKind::Name:
    return evaluateName(expr, names);
  case ExprKind::Unary: {
    Value operand = evaluate(*expr.operands[0], names);
    return operand.isError() ? operand : emit.unary(expr.unary, operand, location(expr.focus));
  }
  case ExprKind::Binary:
    return evaluateBinary(expr, names);
  case ExprKind::If:
    return evaluateIf(expr, names);
  case ExprKind::Call:
    return evaluateCall(expr, names);
  }
  return Value();
}

Value Evaluator::evaluateName(const Expr &expr, const Names &names) {
  const Value *value = names.find(expr.text);
  if (!value)
    return expr.text == numericsName ? Value::ofString(numerics) : Value();
  if (value->absent)
    diagnostics.report(DiagnosticKind::AbsentState, expr.range, expr.text)
        .note(DiagnosticKind::DeclaredHere, value->absent->name.range, expr.text);
  return *value;
}

Value Evaluator::evaluateBinary(const Expr &expr, const Names &names) {
  Value left = evaluate(*expr.operands[0], names);
  if (left.isError())
    return left;
  // A constant left operand may decide the result. The right operand is then not expanded: `amsgrad
  // && …` may use names that exist only with amsgrad.
  if (left.isConstant() && ((expr.binary == BinaryOperator::And && !left.boolean) ||
                            (expr.binary == BinaryOperator::Or && left.boolean)))
    return left;
  Value right = evaluate(*expr.operands[1], names);
  if (right.isError())
    return right;
  if (expr.binary != BinaryOperator::Power) {
    bool isLogic = expr.binary == BinaryOperator::And || expr.binary == BinaryOperator::Or;
    if (isLogic && left.isConstant())
      return right;
    if (isLogic && right.isConstant())
      return right.boolean == (expr.binary == BinaryOperator::Or) ? right : left;
    return emit.binary(expr.binary, left, right, location(expr.focus));
  }
  return emit.power(left, right, location(expr.focus));
}

Value Evaluator::evaluateIf(const Expr &expr, const Names &names) {
  Value condition = evaluate(*expr.operands[0], names);
  if (condition.isError())
    return condition;
  if (condition.isConstant())
    return evaluate(*expr.operands[condition.boolean ? 1 : 2], names);
  Value whenTrue = evaluate(*expr.operands[1], names);
  Value whenFalse = evaluate(*expr.operands[2], names);
  if (whenTrue.isError() || whenFalse.isError())
    return Value();
  return emit.select(condition, whenTrue, whenFalse, location(expr.focus));
}

Value Evaluator::evaluateCall(const Expr &expr, const Names &names) {
  llvm::SmallVector<Value, 4> arguments;
  for (const Expr *operand : expr.operands) {
    arguments.push_back(evaluate(*operand, names));
    if (arguments.back().isError())
      return Value();
  }
  if (const Builtin *builtin = findBuiltin(expr.text);
      builtin && builtin->arity == arguments.size())
    return emit.builtin(builtin->kind, arguments, location(expr.focus));
  if (const RuleFunction *ruleFunction = findRuleFunction(expr.text))
    return evaluateRuleFunction(expr, *ruleFunction, arguments);
  const Function *function = names.file->visible.lookup(expr.text);
  if (!function)
    return Value();
  size_t before = diagnostics.diagnostics().size();
  if (calls++ == 0)
    outermostCall = expr.focus;
  Value result = expand(*function, arguments);
  --calls;
  if (!exhausted)
    diagnostics.noteSince(before, DiagnosticKind::InCall, expr.focus, expr.text);
  return result;
}

Value Evaluator::evaluateRuleFunction(const Expr &expr, const RuleFunction &function,
                                      llvm::ArrayRef<Value> arguments) {
  mlir::Location loc = location(expr.focus);
  if (function.needsMatrix() && !isMatrix) {
    diagnostics.report(DiagnosticKind::RowsOutsideMatrix, expr.focus, function.name);
    return Value();
  }
  switch (function.kind) {
  case RuleFunctionKind::Size:
    return emit.size(function.over, loc);
  case RuleFunctionKind::Random:
    if (randomNumbers == maxRandomNumbers) {
      diagnostics.report(DiagnosticKind::TooManyRandom, expr.focus, maxRandomNumbers);
      return Value();
    }
    return emit.random(randomNumbers++, loc);
  case RuleFunctionKind::Count:
  case RuleFunctionKind::Reduce:
    break;
  }
  Extent extent = Extent::model;
  for (const Value &argument : arguments)
    extent = join(extent, argument.extent);
  if (canReduce(extent, function.over))
    return function.kind == RuleFunctionKind::Count ? emit.valueCount(extent, function.over, loc)
                                                    : emit.reduce(function, arguments, loc);
  diagnostics.report(DiagnosticKind::ReductionOperand, expr.operands[0]->range, function.name,
                     describe(Type{Kind::Number, extent}));
  return Value();
}

Value Evaluator::expand(const Function &function, llvm::ArrayRef<Value> arguments) {
  Names names{function.file, {}};
  for (auto [parameter, argument] : llvm::zip(function.parameters, arguments))
    names.add(parameter.text, argument);
  for (const Let &let : function.lets) {
    Value value = evaluate(*let.value, names);
    if (value.isError())
      return value;
    nameResult(let.name, value);
    names.add(let.name.text, value);
  }
  return evaluate(*function.result, names);
}
