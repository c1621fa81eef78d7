//===- TorchExpression.cpp - Values of a rule as expressions of torch -------------------------===//

#include "TorchExpression.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace updraft;
using namespace updraft::torch;

// An expression with more nested operations gets a name.
static constexpr unsigned maxDepth = 4;

// Names that values of the rule must not use: Python's keywords and names in the printed functions.
static constexpr llvm::StringLiteral reservedNames[] = {
    "False",  "None",     "True",    "and",    "as",    "assert", "async",   "await",    "break",
    "class",  "continue", "def",     "del",    "elif",  "else",   "except",  "finally",  "for",
    "from",   "global",   "if",      "import", "in",    "is",     "lambda",  "nonlocal", "not",
    "or",     "pass",     "raise",   "return", "try",   "while",  "with",    "yield",    "torch",
    "scalar", "spread",   "largest", "state",  "group", "hyper",  "reduced", "size"};

std::string torch::dtypeOf(Type type) {
  if (type.isInteger(1))
    return "torch.bool";
  if (type.isInteger(64))
    return "torch.int64";
  if (type.isBF16())
    return "torch.bfloat16";
  return "torch.float" + std::to_string(type.getIntOrFloatBitWidth());
}

std::string torch::identifier(StringRef name) {
  std::string text;
  for (char c : name)
    text += llvm::isAlnum(c) ? c : '_';
  if (text.empty() || llvm::isDigit(text.front()))
    text = "_" + text;
  return text;
}

std::string torch::quoted(StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << '"';
  llvm::printEscapedString(text, os);
  os << '"';
  return result;
}

/// Returns the shortest decimal that reads back as the same f64.
static std::string numberText(double value) {
  if (std::isnan(value))
    return "torch.nan";
  if (std::isinf(value))
    return value > 0 ? "torch.inf" : "-torch.inf";
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    text = buffer;
    if (std::strtod(buffer, nullptr) == value)
      break;
  }
  return StringRef(text).contains_insensitive('e') || StringRef(text).contains('.') ? text
                                                                                    : text + ".0";
}

FunctionBody::FunctionBody(ArrayRef<Value> roots, const ReductionPlaces &places, Value skip)
    : roots(roots), places(places), skip(skip) {
  for (StringRef name : reservedNames)
    taken.insert(name);
  // The arguments.
  taken.insert("param");
  taken.insert("grad");
  if (roots.empty())
    return;
  findNeeded();
  if (needsItself())
    guards->keepPlain();
  countUses();
}

/// Whether the value is an argument. Reductions over the group are arguments, and another function
/// computes the initial value of a state.
bool FunctionBody::isGiven(Operation *op) const {
  return places.contains(op) || isa<HyperOp, TensorInputOpInterface>(op);
}

void FunctionBody::findNeeded() {
  llvm::DenseSet<Operation *> given;
  SmallVector<Value> open(roots);
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!needed.insert(op).second)
      continue;
    if (isGiven(op))
      given.insert(op);
    else
      open.append(op->operand_begin(), op->operand_end());
  }
  guards.emplace(roots, skip, needed, std::move(given));
}

/// Returns the other values that the text of `version` refers to.
SmallVector<FunctionBody::Version> FunctionBody::partsOf(Version version,
                                                         GuardSet &guardsOfParts) const {
  SmallVector<Version> parts;
  Operation *op = version.value.getDefiningOp();
  if (isGiven(op))
    return parts;
  size_t known = guardsOfParts.size();
  for (OpOperand &operand : op->getOpOperands()) {
    parts.push_back(partOf(version, operand));
    if (!isGuarded(version))
      continue;
    if (guards->merge(operand))
      parts.push_back({operand.get(), true});
    for (const Guard *guard : {guards->replacement(operand), guards->merge(operand)})
      if (guard && !guardExpressions.contains(guard))
        guardsOfParts.insert(guard);
  }
  for (; known < guardsOfParts.size(); ++known) {
    const Guard *guard = guardsOfParts[known];
    for (const Guard *inner : guard->parts)
      if (!guardExpressions.contains(inner))
        guardsOfParts.insert(inner);
    if (guard->outer && !guardExpressions.contains(guard->outer))
      guardsOfParts.insert(guard->outer);
    if (guard->kind != Guard::Chosen)
      continue;
    // Adds them twice, so that they get a name.
    Value of = guard->choice.of;
    if (guard->choice.isCondition() || of.getDefiningOp<ReduceOp>())
      parts.append(2, {of, true});
    if (!guard->choice.isCondition())
      for (Value operand : of.getDefiningOp()->getOperands())
        parts.append(2, {operand, true});
  }
  return parts;
}

/// Whether a guard needs a value that is computed from the guarded value.
bool FunctionBody::needsItself() {
  llvm::DenseMap<Value, bool> visited[2]; // true once all parts are visited
  SmallVector<Version> open;
  for (Value root : roots)
    open.push_back(versionOf(root, false));
  while (!open.empty()) {
    Version next = open.back();
    auto [state, isNew] = visited[next.plain].try_emplace(next.value, false);
    if (!isNew) {
      state->second = true;
      open.pop_back();
      continue;
    }
    GuardSet inner;
    for (Version part : partsOf(next, inner)) {
      auto found = visited[part.plain].find(part.value);
      if (found == visited[part.plain].end())
        open.push_back(part);
      else if (!found->second)
        return true;
    }
  }
  return false;
}

void FunctionBody::countUses() {
  GuardSet counted;
  SmallVector<Version> open;
  for (Value root : roots)
    open.push_back(versionOf(root, false));
  while (!open.empty()) {
    Version next = open.pop_back_val();
    if (++uses[next.plain][next.value] == 1)
      llvm::append_range(open, partsOf(next, counted));
  }
}

std::string FunctionBody::unique(StringRef name) {
  std::string first = identifier(name);
  std::string text = first;
  for (unsigned number = 2; !taken.insert(text).second; ++number)
    text = first + "_" + std::to_string(number);
  return text;
}

std::string FunctionBody::within(const Expression &expression, Binding least) {
  return expression.binding < least ? "(" + expression.text + ")" : expression.text;
}

std::string FunctionBody::operand(Value value, Binding least, bool asTensor) {
  const Expression &expression = operands.at(value);
  if (asTensor && expression.isNumber)
    return "torch.tensor(" + expression.text + ", dtype=" + dtypeOf(value.getType()) + ")";
  return within(expression, least);
}

std::string FunctionBody::textOf(Value value) { return operands.at(value).text; }

std::string FunctionBody::tensorOf(Value value) {
  return operand(value, Binding::Compare, /*asTensor=*/true);
}

std::string FunctionBody::primaryOf(Value value) {
  return operand(value, Binding::Primary, /*asTensor=*/true);
}

FunctionBody::Expression FunctionBody::binary(Operation &op, StringRef symbol, Binding binding) {
  // Operators are left-associative, except `**` and comparisons.
  Binding tighter = binding == Binding::Power ? Binding::Unary
                                              : static_cast<Binding>(static_cast<int>(binding) + 1);
  Binding left = binding == Binding::Power     ? Binding::Primary
                 : binding == Binding::Compare ? Binding::Or
                                               : binding;
  // At least one operand must be a tensor.
  bool areNumbers =
      llvm::all_of(op.getOperands(), [&](Value value) { return operands.at(value).isNumber; });
  return {operand(op.getOperand(0), left, areNumbers) + " " + symbol.str() + " " +
              operand(op.getOperand(1), tighter),
          binding};
}

FunctionBody::Expression FunctionBody::call(Operation &op, StringRef function) {
  std::string text = function.str() + "(";
  for (auto [index, value] : llvm::enumerate(op.getOperands()))
    text += (index ? ", " : "") + tensorOf(value);
  return {text + ")"};
}

FunctionBody::Expression FunctionBody::convert(Value value, Type type) {
  return {primaryOf(value) + ".to(" + dtypeOf(type) + ")"};
}

FunctionBody::Expression FunctionBody::input(Operation &op) {
  Type type = op.getResult(0).getType();
  auto converted = [&](llvm::StringRef text, Type storage) {
    return Expression{storage == type ? text.str() : text.str() + ".to(" + dtypeOf(type) + ")"};
  };
  return llvm::TypeSwitch<Operation *, Expression>(&op)
      .Case([&](HyperOp hyper) {
        return Expression{"scalar(hyper[" + quoted(hyper.getName()) + "])"};
      })
      .Case([&](ParamOp param) { return converted("param", param.getStorage()); })
      .Case([&](GradOp grad) { return converted("grad", grad.getStorage()); })
      .Case([&](StepOp) { return Expression{"state[\"step\"] + 1", Binding::Add}; })
      .Case([&](FirstOp) { return Expression{"state[\"step\"] == 0", Binding::Compare}; })
      .Case([&](StateOp state) {
        std::string text = (state.getOver() == Extent::group ? "group[" : "state[") +
                           quoted(state.getName()) + "]";
        return converted(text, state.getStorage());
      })
      .Case([&](SizeOp count) {
        switch (count.getOver()) {
        case Extent::row:
          return Expression{"scalar(param.shape[-1])"};
        case Extent::column:
          return Expression{"scalar(param.shape[-2])"};
        case Extent::group:
          return Expression{"scalar(size)"};
        default:
          return Expression{"scalar(param.numel())"};
        }
      })
      .Default([](Operation *) { return Expression{""}; });
}

FunctionBody::Expression FunctionBody::reduction(ReduceOp reduce) {
  if (auto place = places.find(reduce); place != places.end())
    return {"reduced[" + std::to_string(place->second) + "]"};
  Value value = reduce.getInput();
  std::string text = value.getType().isF64() ? operand(value, Binding::Primary)
                                             : convert(value, reduce.getType()).text;
  StringRef dimensions = reduce.getOver() == Extent::row      ? "-1, keepdim=True"
                         : reduce.getOver() == Extent::column ? "-2, keepdim=True"
                         : reduce.getOver() == Extent::batch  ? "(-2, -1), keepdim=True"
                                                              : "";
  if (reduce.getKind() == ReductionKind::sum)
    return {text + ".sum(" + dimensions.str() + ")"};
  if (!dimensions.empty())
    return {text + ".amax(" + dimensions.str() + ")"};
  return {"largest(" + text + ")"};
}

FunctionBody::Expression FunctionBody::comparison(Operation &op) {
  auto plain = [&](StringRef symbol) { return binary(op, symbol, Binding::Compare); };
  auto negated = [&](StringRef symbol) {
    return Expression{"~(" + plain(symbol).text + ")", Binding::Unary};
  };
  auto unordered = [&]() -> std::string {
    std::string text = "torch.isnan(" + tensorOf(op.getOperand(0)) + ")";
    if (op.getOperand(0) == op.getOperand(1))
      return text;
    return "(" + text + " | torch.isnan(" + tensorOf(op.getOperand(1)) + "))";
  };
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return plain("==");
    case arith::CmpIPredicate::ne:
      return plain("!=");
    case arith::CmpIPredicate::slt:
      return plain("<");
    case arith::CmpIPredicate::sle:
      return plain("<=");
    case arith::CmpIPredicate::sgt:
      return plain(">");
    case arith::CmpIPredicate::sge:
      return plain(">=");
    default:
      return {""};
    }
  }
  switch (cast<arith::CmpFOp>(op).getPredicate()) {
  case arith::CmpFPredicate::OEQ:
    return plain("==");
  case arith::CmpFPredicate::UNE:
    return plain("!=");
  case arith::CmpFPredicate::OLT:
    return plain("<");
  case arith::CmpFPredicate::OLE:
    return plain("<=");
  case arith::CmpFPredicate::OGT:
    return plain(">");
  case arith::CmpFPredicate::OGE:
    return plain(">=");
  case arith::CmpFPredicate::UGE:
    return negated("<");
  case arith::CmpFPredicate::UGT:
    return negated("<=");
  case arith::CmpFPredicate::ULE:
    return negated(">");
  case arith::CmpFPredicate::ULT:
    return negated(">=");
  case arith::CmpFPredicate::UNO:
    return {unordered()};
  case arith::CmpFPredicate::ORD:
    return {"~" + unordered(), Binding::Unary};
  default:
    return {""};
  }
}

/// Returns an empty text for operations that torch lacks.
FunctionBody::Expression FunctionBody::make(Operation &op) {
  if (Attribute attribute; matchPattern(&op, m_Constant(&attribute))) {
    Expression number;
    if (auto real = dyn_cast<FloatAttr>(attribute))
      number.text = numberText(real.getValueAsDouble());
    else if (auto integer = dyn_cast<IntegerAttr>(attribute))
      number.text = !integer.getType().isInteger(1) ? std::to_string(integer.getInt())
                    : integer.getValue().isZero()   ? "False"
                                                    : "True";
    number.binding = StringRef(number.text).starts_with("-") ? Binding::Unary : Binding::Primary;
    number.isNumber = true;
    return number;
  }
  return llvm::TypeSwitch<Operation *, Expression>(&op)
      .Case<HyperOp, StepOp, FirstOp, SizeOp, TensorInputOpInterface>(
          [&](auto) { return input(op); })
      .Case([&](ReduceOp reduce) { return reduction(reduce); })
      .Case([&](BroadcastOp broadcast) {
        if (broadcast.getOver() != Extent::element)
          return Expression{""};
        return Expression{"spread(" + textOf(broadcast.getInput()) + ", param.shape, param, " +
                          dtypeOf(broadcast.getType()) + ")"};
      })
      .Case<arith::CmpFOp, arith::CmpIOp>([&](auto) { return comparison(op); })
      .Case<arith::TruncFOp, arith::ExtFOp, arith::SIToFPOp, arith::FPToSIOp>(
          [&](auto cast) { return convert(cast.getIn(), cast.getType()); })
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return binary(op, "+", Binding::Add); })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return binary(op, "-", Binding::Add); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return binary(op, "*", Binding::Multiply); })
      .Case([&](arith::DivFOp) { return binary(op, "/", Binding::Multiply); })
      .Case<math::PowFOp, math::FPowIOp>([&](auto) { return binary(op, "**", Binding::Power); })
      .Case([&](arith::AndIOp) { return binary(op, "&", Binding::And); })
      .Case([&](arith::OrIOp) { return binary(op, "|", Binding::Or); })
      .Case([&](arith::XOrIOp) {
        if (matchPattern(op.getOperand(1), m_One()) && op.getResult(0).getType().isInteger(1))
          return Expression{"~" + operand(op.getOperand(0), Binding::Unary, true), Binding::Unary};
        return binary(op, "^", Binding::Xor);
      })
      .Case([&](arith::NegFOp) {
        return Expression{"-" + operand(op.getOperand(0), Binding::Unary, true), Binding::Unary};
      })
      .Case([&](arith::SelectOp select) {
        bool areNumbers = operands.at(select.getTrueValue()).isNumber &&
                          operands.at(select.getFalseValue()).isNumber;
        return Expression{"torch.where(" + tensorOf(select.getCondition()) + ", " +
                          operand(select.getTrueValue(), Binding::Compare, areNumbers) + ", " +
                          textOf(select.getFalseValue()) + ")"};
      })
      .Case([&](math::FmaOp) {
        return Expression{operand(op.getOperand(0), Binding::Multiply, true) + " * " +
                              operand(op.getOperand(1), Binding::Unary) + " + " +
                              operand(op.getOperand(2), Binding::Multiply),
                          Binding::Add};
      })
      .Case([&](arith::MaximumFOp) { return call(op, "torch.maximum"); })
      .Case([&](arith::MinimumFOp) { return call(op, "torch.minimum"); })
      .Case([&](arith::MaxNumFOp) { return call(op, "torch.fmax"); })
      .Case([&](arith::MinNumFOp) { return call(op, "torch.fmin"); })
      .Case([&](arith::RemFOp) { return call(op, "torch.fmod"); })
      .Case([&](math::AbsFOp) { return call(op, "torch.abs"); })
      .Case([&](math::CeilOp) { return call(op, "torch.ceil"); })
      .Case([&](math::ExpOp) { return call(op, "torch.exp"); })
      .Case([&](math::FloorOp) { return call(op, "torch.floor"); })
      .Case([&](math::LogOp) { return call(op, "torch.log"); })
      .Case([&](math::SqrtOp) { return call(op, "torch.sqrt"); })
      .Case([&](math::TanhOp) { return call(op, "torch.tanh"); })
      .Default([](Operation *) { return Expression{""}; });
}

/// Returns the name of the value in the rule; "" if it has none.
static StringRef nameOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, StringRef>(&op)
      .Case([](HyperOp hyper) { return hyper.getName(); })
      .Case([](TensorInputOpInterface input) { return input.getTensorName(); })
      .Case([](StepOp) { return "step"; })
      .Case([](FirstOp) { return "first"; })
      .Default([](Operation *other) -> StringRef {
        auto name = other->getLoc()->findInstanceOf<NameLoc>();
        return name ? name.getName().getValue() : "";
      });
}

/// Returns the condition, as in torch, that a gradient flows because of one choice.
FunctionBody::Expression FunctionBody::choiceText(Choice choice) {
  auto plain = [&](Value value, Binding least, bool asTensor = false) {
    const Expression &expression = expressions[true].at(value);
    return asTensor && expression.isNumber
               ? "torch.tensor(" + expression.text + ", dtype=" + dtypeOf(value.getType()) + ")"
               : within(expression, least);
  };
  if (choice.isCondition()) {
    if (choice.which && !expressions[true].at(choice.of).isNumber)
      return expressions[true].at(choice.of);
    if (choice.which)
      return {plain(choice.of, Binding::Unary, true)};
    return {"~" + plain(choice.of, Binding::Unary, true), Binding::Unary};
  }
  Operation *op = choice.of.getDefiningOp();
  std::string first = plain(op->getOperand(0), Binding::Or);
  if (isa<ReduceOp>(op))
    return {first + " == " + plain(choice.of, Binding::Or), Binding::Compare};
  std::string second = plain(op->getOperand(1), Binding::Or);
  bool isLargest = isa<arith::MaximumFOp, arith::MaxNumFOp>(op);
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return {"~(" + first + (isLargest == (choice.which == 0) ? " < " : " > ") + second + ")",
            Binding::Unary};
  // Chooses the second operand only if it is a number, and the first is not beyond it.
  std::string ofFirst = "(" + first + (isLargest ? " >= " : " <= ") + second + ") | torch.isnan(" +
                        plain(op->getOperand(1), Binding::Compare, true) + ")";
  return choice.which == 0 ? Expression{ofFirst, Binding::Or}
                           : Expression{"~(" + ofFirst + ")", Binding::Unary};
}

FunctionBody::Expression FunctionBody::guardText(const Guard &guard) {
  auto inner = [&](const Guard *of, Binding least) {
    return within(guardExpressions.at(of), least);
  };
  switch (guard.kind) {
  case Guard::Always:
    return {"True"};
  case Guard::Chosen: {
    Expression choice = choiceText(guard.choice);
    if (guard.outer->kind == Guard::Always)
      return choice;
    return {inner(guard.outer, Binding::And) + " & " + within(choice, Binding::Add), Binding::And};
  }
  case Guard::Either: {
    std::string text;
    for (const Guard *part : guard.parts)
      text += (text.empty() ? "" : " | ") + inner(part, Binding::Xor);
    return {text, Binding::Or};
  }
  case Guard::Anywhere:
    break;
  }
  std::string text = inner(guard.outer, Binding::Primary);
  switch (guard.extent) {
  case Extent::row:
    return {text + ".any(-1, keepdim=True)"};
  case Extent::column:
    return {text + ".any(-2, keepdim=True)"};
  case Extent::batch:
    return {text + ".any(-1, keepdim=True).any(-2, keepdim=True)"};
  default:
    return {text + ".any()"};
  }
}

/// Returns the text of the guard. Its conditions must have been printed.
const FunctionBody::Expression &FunctionBody::guardOf(const Guard *guard, raw_ostream &os) {
  GuardSet open;
  open.insert(guard);
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i]->outer)
      open.insert(open[i]->outer);
    open.insert(open[i]->parts.begin(), open[i]->parts.end());
  }
  SmallVector<const Guard *> inOrder = open.takeVector();
  llvm::sort(inOrder, [](auto left, auto right) { return left->number < right->number; });
  for (const Guard *next : inOrder) {
    if (guardExpressions.contains(next))
      continue;
    Expression expression = guardText(*next);
    bool isShort = next->kind == Guard::Always ||
                   (next->kind == Guard::Chosen && next->outer->kind == Guard::Always &&
                    next->choice.isCondition());
    guardExpressions[next] = isShort ? expression : named("used", expression, os);
  }
  return guardExpressions.at(guard);
}

/// Returns the text of an operand that gradients flow through, guarded if needed.
FunctionBody::Expression FunctionBody::guarded(OpOperand &operand, Expression expression,
                                               raw_ostream &os) {
  Value value = operand.get();
  if (const Guard *guard = guards->replacement(operand)) {
    auto found = replaced.find({value, guard});
    if (found != replaced.end())
      return found->second;
    std::string text = "torch.where(" + guardOf(guard, os).text + ", " + expression.text + ", 1.0)";
    return replaced[{value, guard}] = named("safe", {text}, os);
  }
  if (const Guard *guard = guards->merge(operand))
    return {"torch.where(" + guardOf(guard, os).text + ", " + expression.text + ", " +
            within(expressions[true].at(value), Binding::Primary) + ".detach())"};
  return expression;
}

FunctionBody::Expression FunctionBody::named(StringRef name, const Expression &expression,
                                             raw_ostream &os) {
  std::string variable = unique(name);
  os << "    " << variable << " = " << expression.text << "\n";
  return {variable};
}

LogicalResult FunctionBody::printOne(Version version, raw_ostream &os, std::string &reason) {
  Value value = version.value;
  Operation &op = *value.getDefiningOp();
  operands.clear();
  unsigned depth = 0;
  if (!isGiven(&op))
    for (OpOperand &operand : op.getOpOperands()) {
      Version part = partOf(version, operand);
      Expression expression = expressions[part.plain].at(part.value);
      if (isGuarded(version))
        expression = guarded(operand, std::move(expression), os);
      depth = std::max(depth, expression.depth + 1);
      // If an operand occurs twice and is guarded once, it may be guarded in both places.
      Expression &known = operands[operand.get()];
      if (known.text.empty() || guards->replacement(operand))
        known = std::move(expression);
    }
  Expression expression = make(op);
  if (expression.text.empty()) {
    reason = llvm::formatv("torch has no counterpart of `{0}`", op.getName().getStringRef());
    return failure();
  }
  expression.depth = depth;
  StringRef name = nameOf(op);
  bool isPlain = expression.isNumber || expression.text == "param" || expression.text == "grad";
  bool isShort = depth <= maxDepth || llvm::is_contained(roots, value);
  bool isInline = isPlain || (name.empty() && uses[version.plain][value] == 1 && isShort);
  expressions[version.plain][value] =
      isInline ? expression : named(name.empty() ? "value" : name, expression, os);
  return success();
}

/// Prints the value after its operands; a condition may follow it in the rule.
LogicalResult FunctionBody::printUpTo(Version version, raw_ostream &os, std::string &reason) {
  SmallVector<Version> open = {version};
  while (!open.empty()) {
    Version next = open.back();
    if (isPrinted(next)) {
      open.pop_back();
      continue;
    }
    size_t before = open.size();
    GuardSet inner;
    for (Version part : partsOf(next, inner))
      if (!isPrinted(part))
        open.push_back(part);
    if (open.size() > before)
      continue;
    if (failed(printOne(next, os, reason)))
      return failure();
    open.pop_back();
  }
  return success();
}

LogicalResult FunctionBody::print(raw_ostream &os, std::string &reason) {
  if (roots.empty())
    return success();
  for (Operation &op : roots.front().getDefiningOp()->getBlock()->without_terminator())
    for (bool plain : {true, false})
      if (needed.contains(&op) && uses[plain].contains(op.getResult(0)) &&
          failed(printUpTo({op.getResult(0), plain}, os, reason)))
        return failure();
  operands.clear();
  for (Value root : roots)
    operands[root] = expressions[versionOf(root, false).plain].at(root);
  return success();
}
