//===- Evaluator.cpp - Evaluates expressions at import ----------------------------------------===//

#include "Evaluator.h"

#include "Chain.h"
#include "Checker.h"
#include "MatrixShapes.h"
#include "Requirements.h"
#include "StandardLibrary.h"

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/IR/Matchers.h"
#include "updraft/Frontend/Numerics.h"

#include "llvm/ADT/ScopeExit.h"

#include <fmt/format.h>

using namespace updraft;
using llvm::StringRef;

const Value *Names::find(StringRef name) const {
  for (const auto &[other, value] : llvm::reverse(values))
    if (other == name)
      return &value;
  return nullptr;
}

static mlir::Location placeOf(mlir::MLIRContext *context, SourceRange range) {
  LineColumn at = range.file->position(range.begin);
  return mlir::FileLineColLoc::get(context, range.file->path(), at.line, at.column);
}

void Evaluator::setCalls(llvm::ArrayRef<SourceRange> places) {
  callLocation = {};
  for (SourceRange place : places)
    callLocation = location(place);
}

mlir::Location Evaluator::location(SourceRange range) const {
  mlir::LocationAttr caller = callLocation;
  const std::vector<SourceRange> callers = range.calls();
  for (SourceRange call : llvm::reverse(callers)) {
    mlir::Location place = placeOf(context, call);
    caller = caller ? mlir::CallSiteLoc::get(place, mlir::Location(caller)) : place;
  }
  mlir::Location place = placeOf(context, range.origin());
  return caller ? mlir::CallSiteLoc::get(place, mlir::Location(caller)) : place;
}

mlir::Location Evaluator::location(const Identifier &name) const {
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name.text), location(name.range));
}

void Evaluator::nameResult(const Identifier &name, const Value &value) const {
  mlir::Operation *op = value.ir ? value.ir.getDefiningOp() : nullptr;
  if (op && !mlir::isa<mlir::NameLoc>(op->getLoc()))
    op->setLoc(mlir::NameLoc::get(mlir::StringAttr::get(context, name.text), op->getLoc()));
}

bool Evaluator::visit(SourceRange place) {
  if (exhausted)
    return false;
  if (++visits <= maxVisits && emit.operationCount() <= maxOperations)
    return true;
  exhausted = true;
  diagnostics.report(DiagnosticKind::ExpansionTooLarge, calls ? outermostCall : place,
                     maxOperations, operationsOfFunction, operationsOfReduction);
  return false;
}

Value Evaluator::evaluate(const Expr &expr, const Names &names) {
  if (!visit(expr.focus))
    return Value();
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
  case ExprKind::List:
    return evaluateList(expr, names);
  case ExprKind::Tuple:
    break;
  }
  return Value();
}

Value Evaluator::evaluateList(const Expr &expr, const Names &names) {
  StaticList list;
  for (const Expr *element : expr.operands) {
    bool isTuple = element->kind == ExprKind::Tuple;
    llvm::ArrayRef<const Expr *> parts = isTuple ? element->operands : llvm::ArrayRef(element);
    list.width = parts.size();
    for (const Expr *part : parts) {
      Value number = evaluate(*part, names);
      if (number.isError())
        return number;
      if (!number.isConstant()) {
        diagnostics.report(DiagnosticKind::ListElement, part->range, describe(number.type()));
        return Value();
      }
      list.numbers.push_back(number.number);
    }
  }
  return Value::ofList(std::move(list));
}

Value Evaluator::evaluateListFunction(const Expr &expr, ListFunction function,
                                      llvm::ArrayRef<Value> arguments) {
  const Value &count = arguments[1];
  if (!count.isConstant() || count.number != std::floor(count.number) || count.number < 1 ||
      count.number > maxListLength) {
    diagnostics.report(
        DiagnosticKind::ListLength, expr.operands[1]->range, expr.text, maxListLength,
        count.isConstant() ? fmt::format("{}", count.number) : describe(count.type()).str());
    return Value();
  }
  return Value::ofList(
      applyListFunction(function, *arguments[0].list, static_cast<size_t>(count.number)));
}

bool Evaluator::haveOneShape(const Expr &expr, StringRef op, llvm::ArrayRef<Value> operands) {
  auto extents = llvm::map_to_vector<3>(operands, [](const Value &value) { return value.extent; });
  return joinShapes(diagnostics, expr, op, extents).has_value();
}

Value Evaluator::evaluateProduct(const Expr &expr, StringRef op, ProductKind kind,
                                 llvm::ArrayRef<Value> operands) {
  if (!isMatrix) {
    diagnostics.report(DiagnosticKind::RowsOutsideMatrix, expr.focus, op);
    return Value();
  }
  if (!productShape(diagnostics, expr, op, operands[0].extent, operands[1].extent,
                    kind.isSymmetric))
    return Value();
  return emit.product(operands[0], operands[1], kind, location(expr.focus));
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
  if (expr.binary == BinaryOperator::MatrixProduct)
    return evaluateProduct(expr, spelling(expr.binary), {}, {left, right});
  if (!haveOneShape(expr, spelling(expr.binary), {left, right}))
    return Value();
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

bool Evaluator::holds(MatrixShapes condition) {
  if (!bitEnumContainsAny(shapes, condition))
    return false;
  shapes = shapes & condition;
  return true;
}

Value Evaluator::evaluateIf(const Expr &expr, const Names &names) {
  Value condition = evaluate(*expr.operands[0], names);
  if (condition.isError())
    return condition;
  if (condition.holdsFor)
    return evaluate(*expr.operands[holds(*condition.holdsFor) ? 1 : 2], names);
  if (condition.isConstant())
    return evaluate(*expr.operands[condition.boolean ? 1 : 2], names);
  Value whenTrue = evaluate(*expr.operands[1], names);
  Value whenFalse = evaluate(*expr.operands[2], names);
  if (whenTrue.isError() || whenFalse.isError() ||
      !haveOneShape(expr, "if", {condition, whenTrue, whenFalse}))
    return Value();
  if (whenTrue.kind != Kind::Number && whenTrue.kind != Kind::Bool) {
    diagnostics.report(DiagnosticKind::StringChoice, expr.operands[0]->range,
                       describe(whenTrue.type()));
    return Value();
  }
  return emit.select(condition, whenTrue, whenFalse, location(expr.focus));
}

Value Evaluator::evaluateCall(const Expr &expr, const Names &names) {
  llvm::SmallVector<Value, 4> arguments;
  for (const Expr *operand : expr.operands) {
    arguments.push_back(evaluate(*operand, names));
    if (arguments.back().isError())
      return Value();
  }
  if (std::optional<ListFunction> ofList = findListFunction(expr.text))
    return evaluateListFunction(expr, *ofList, arguments);
  if (const Builtin *builtin = findBuiltin(expr.text);
      builtin && builtin->arity == arguments.size()) {
    if (builtin->kind == BuiltinKind::Rounded && !isComputeKnown) {
      diagnostics.report(DiagnosticKind::RoundedTooEarly, expr.focus);
      return Value();
    }
    return haveOneShape(expr, expr.text, arguments)
               ? emit.builtin(builtin->kind, arguments, location(expr.focus))
               : Value();
  }
  if (const RuleFunction *ruleFunction = findRuleFunction(expr.text, arguments.size()))
    return evaluateRuleFunction(expr, *ruleFunction, arguments);
  const Function *function = names.file->visible.lookup(expr.text);
  if (!function)
    return Value();
  size_t before = diagnostics.diagnostics().size();
  if (calls++ == 0)
    outermostCall = expr.focus;
  mlir::LocationAttr outer = std::exchange(callLocation, location(expr.focus));
  Value result = expand(*function, arguments);
  callLocation = outer;
  --calls;
  if (!exhausted)
    noteCall(diagnostics, before, expr);
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
  case RuleFunctionKind::SizeOf:
    if (!checkMatrix(diagnostics, *expr.operands[0], function.name, arguments[0].extent) ||
        !checkUnchosen(diagnostics, *expr.operands[0], function, arguments[0].extent))
      return Value();
    return emit.sizeOf(arguments[0], function.over, loc);
  case RuleFunctionKind::Transpose:
    if (!checkMatrix(diagnostics, *expr.operands[0], function.name, arguments[0].extent))
      return Value();
    return emit.transpose(arguments[0], loc);
  case RuleFunctionKind::Identity:
    if (!checkMatrix(diagnostics, *expr.operands[0], function.name, arguments[0].extent) ||
        !checkUnchosen(diagnostics, *expr.operands[0], function, arguments[0].extent))
      return Value();
    return emit.identity(arguments[0], loc);
  case RuleFunctionKind::Apply:
  case RuleFunctionKind::Diagonal:
  case RuleFunctionKind::ScaleColumns: {
    auto extents =
        llvm::map_to_vector(arguments, [](const Value &argument) { return argument.extent; });
    if (!checkFunctionOfMatrices(diagnostics, expr, function, extents))
      return Value();
    if (auto places = arguments.back().ir.getDefiningOp<ApplyOp>();
        function.takesPlaces() && (!places || places.getFunction() != MatrixFunction::largest)) {
      diagnostics.report(DiagnosticKind::PlacesOperand, expr.operands[1]->range, function.name);
      return Value();
    }
    return emit.functionOfMatrices(function, arguments, extentOfResult(function, extents), loc);
  }
  case RuleFunctionKind::Largest:
    return evaluateLargest(expr, function, arguments);
  case RuleFunctionKind::Histogram:
    return evaluateHistogram(expr, function, arguments);
  case RuleFunctionKind::Product:
    return evaluateProduct(expr, function.name, function.product, arguments);
  case RuleFunctionKind::Count:
  case RuleFunctionKind::Reduce:
    break;
  }
  if (!haveOneShape(expr, function.name, arguments))
    return Value();
  Extent extent = Extent::model;
  for (const Value &argument : arguments)
    extent = join(extent, argument.extent);
  // The products are in f64, which scalars don't have in sweeps.
  if (function.kind == RuleFunctionKind::Reduce && function.arity == 2)
    for (auto [operand, argument] : llvm::zip(expr.operands, arguments))
      if (isWithin(argument.extent, Extent::tensor) && argument.ir &&
          !mlir::matchPattern(argument.ir, mlir::m_Constant())) {
        diagnostics.report(DiagnosticKind::ReductionOperand, operand->range, function.name,
                           describe(Type{Kind::Number, argument.extent}));
        return Value();
      }
  // Chosen rows have no values of their own to which batches of them could be reduced first.
  if (canReduce(extent, function.over) &&
      !(extent == Extent::chosen_by_chosen && function.over == Extent::batch &&
        function.kind == RuleFunctionKind::Reduce))
    return function.kind == RuleFunctionKind::Count ? emit.valueCount(extent, function.over, loc)
                                                    : emit.reduce(function, arguments, loc);
  diagnostics.report(DiagnosticKind::ReductionOperand, expr.operands[0]->range, function.name,
                     describe(Type{Kind::Number, extent}));
  return Value();
}

Value Evaluator::evaluateLargest(const Expr &expr, const RuleFunction &function,
                                 llvm::ArrayRef<Value> arguments) {
  const Extent extent = arguments[0].extent;
  if (extent != Extent::row && extent != Extent::column) {
    diagnostics.report(DiagnosticKind::LargestOperand, expr.operands[0]->range, function.name,
                       describeShape(extent));
    return Value();
  }
  const Value &fraction = arguments[1];
  if (!fraction.isConstant() || !(fraction.number > 0 && fraction.number <= 1)) {
    diagnostics.report(DiagnosticKind::ChosenFraction, expr.operands[1]->range, function.name,
                       fraction.isConstant() ? shown(fraction) : "a value that is not static");
    return Value();
  }
  if (emit.chosenFraction && *emit.chosenFraction != fraction.number) {
    diagnostics.report(DiagnosticKind::ChosenFractions, expr.operands[1]->range, function.name,
                       shown(fraction), shown(Value::ofNumber(*emit.chosenFraction)));
    return Value();
  }
  emit.chosenFraction = fraction.number;
  return emit.functionOfMatrices(function, arguments.front(), extent, location(expr.focus));
}

// Each bound has one comparison per element: the values below it are counted, and the counts
// between bounds are differences of these. The last count is of values that aren't less than the
// last bound.
Value Evaluator::evaluateHistogram(const Expr &expr, const RuleFunction &function,
                                   llvm::ArrayRef<Value> arguments) {
  const Value &values = arguments[0];
  if (!canReduce(values.extent, function.over)) {
    diagnostics.report(DiagnosticKind::ReductionOperand, expr.operands[0]->range, function.name,
                       describe(values.type()));
    return Value();
  }
  llvm::ArrayRef<double> bounds = arguments[1].list->numbers;
  SourceRange place = expr.operands[1]->range;
  if (bounds.size() >= maxProbes) {
    diagnostics.report(DiagnosticKind::HistogramLength, place, function.name, maxProbes - 1,
                       bounds.size());
    return Value();
  }
  for (auto [index, bound] : llvm::enumerate(bounds))
    if (!std::isfinite(bound) || (index != 0 && bound <= bounds[index - 1])) {
      std::string found = std::isnan(bound) ? "NaN" : shown(Value::ofNumber(bound));
      if (index != 0)
        found += " after " + shown(Value::ofNumber(bounds[index - 1]));
      diagnostics.report(DiagnosticKind::HistogramBounds, place, function.name, found);
      return Value();
    }
  mlir::Location loc = location(expr.focus);
  auto countWhere = [&](const Value &condition) {
    Value one = emit.select(condition, Value::ofNumber(1), Value::ofNumber(0), loc);
    return emit.reduce(*findRuleFunction("sum"), one, loc);
  };
  std::vector<Value> counts;
  Value below = Value::ofNumber(0);
  for (double bound : bounds) {
    Value all = countWhere(emit.binary(BinaryOperator::Less, values, Value::ofNumber(bound), loc));
    counts.push_back(counts.empty() ? all : emit.binary(BinaryOperator::Subtract, all, below, loc));
    below = all;
  }
  counts.push_back(countWhere(
      emit.binary(BinaryOperator::GreaterEqual, values, Value::ofNumber(bounds.back()), loc)));
  return Value::ofHistogram(arguments[1].list, std::move(counts));
}

Value Evaluator::expand(const Function &function, llvm::ArrayRef<Value> arguments) {
  Names names{function.file, {}};
  for (auto [parameter, argument] : llvm::zip(function.parameters, arguments))
    names.add(parameter.text, argument);
  return evaluate(function.lets, names) ? evaluate(*function.result, names) : Value();
}

bool Evaluator::evaluate(llvm::ArrayRef<Let> lets, Names &names) {
  for (const Let &let : lets) {
    if (let.repeat) {
      if (!evaluate(*let.repeat, names))
        return false;
      continue;
    }
    Value value = evaluate(*let.value, names);
    if (value.isError())
      return false;
    nameResult(let.name, value);
    names.add(let.name.text, value);
  }
  return true;
}

bool Evaluator::evaluate(const Repeat &repeat, Names &names) {
  Value list = evaluate(*repeat.list, names);
  llvm::SmallVector<Value> variables;
  for (const Let &variable : repeat.variables)
    variables.push_back(evaluate(*variable.value, names));
  auto isError = [](const Value &value) { return value.isError(); };
  if (list.isError() || llvm::any_of(variables, isError))
    return false;
  for (size_t i = 0; i < list.list->size(); ++i) {
    // Also an iteration without expressions takes time.
    if (!visit(repeat.range))
      return false;
    // Removes the names of the iteration instead of copying the others.
    llvm::scope_exit leave([&, known = names.values.size()] { names.values.truncate(known); });
    for (auto [name, number] : llvm::zip(repeat.items, list.list->element(i)))
      names.add(name.text, Value::ofNumber(number));
    for (auto [variable, value] : llvm::zip(repeat.variables, variables))
      names.add(variable.name.text, value);
    if (!evaluate(repeat.lets, names))
      return false;
    for (const Let &next : repeat.nexts)
      for (auto [variable, value] : llvm::zip(repeat.variables, variables))
        if (variable.name.text == next.name.text) {
          value = evaluate(*next.value, names);
          nameResult(next.name, value);
        }
    if (llvm::any_of(variables, isError))
      return false;
  }
  for (auto [variable, value] : llvm::zip(repeat.variables, variables))
    names.add(variable.name.text, value);
  return true;
}
