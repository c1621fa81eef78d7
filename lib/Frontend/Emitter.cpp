//===- Emitter.cpp - Operators and builtins as operations -------------------------------------===//

#include "Emitter.h"

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace updraft;
using mlir::Location;
namespace arith = mlir::arith;
namespace math = mlir::math;

mlir::Value Emitter::constant(double number, mlir::Type type, Location loc) {
  // The map reserves only pairs whose halves are both reserved, so any bit pattern can be a key.
  auto [entry, isNew] = constants.try_emplace({llvm::bit_cast<uint64_t>(number), type});
  if (isNew)
    entry->second = create<arith::ConstantOp>(loc, builder.getFloatAttr(type, number));
  return entry->second;
}

mlir::Value Emitter::scalar(const Value &value, Location loc) {
  return value.ir ? value.ir : constant(value.number, builder.getF64Type(), loc);
}

mlir::Value Emitter::element(const Value &value, Location loc) {
  if (!value.ir)
    return constant(value.number, compute, loc);
  if (value.ir.getType() == compute)
    return value.ir;
  mlir::Value &result = rounded[value.ir];
  if (!result)
    result = create<arith::TruncFOp>(loc, compute, value.ir);
  return result;
}

mlir::Value Emitter::flag(const Value &value, Location loc) {
  if (value.ir)
    return value.ir;
  ++count;
  return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value.boolean));
}

Value Emitter::unary(UnaryOperator op, Value operand, Location loc) {
  if (op == UnaryOperator::Not) {
    if (operand.isConstant())
      return Value::ofBool(!operand.boolean);
    Value result =
        Value::ofIr(Kind::Bool, operand.extent,
                    create<arith::XOrIOp>(loc, operand.ir, flag(Value::ofBool(true), loc)));
    if (operand.holdsFor)
      result.holdsFor = allShapes & ~*operand.holdsFor;
    return result;
  }
  if (operand.isConstant())
    return Value::ofNumber(-operand.number);
  Value result = Value::ofIr(Kind::Number, operand.extent, create<arith::NegFOp>(loc, operand.ir));
  result.isInteger = operand.isInteger;
  result.bound = operand.bound;
  return result;
}

Value Emitter::compare(BinaryOperator op, const Value &left, const Value &right, Location loc) {
  if (left.isConstant() && right.isConstant()) {
    double a = left.number, b = right.number;
    switch (op) {
    case BinaryOperator::Less:
      return Value::ofBool(a < b);
    case BinaryOperator::LessEqual:
      return Value::ofBool(a <= b);
    case BinaryOperator::Greater:
      return Value::ofBool(a > b);
    case BinaryOperator::GreaterEqual:
      return Value::ofBool(a >= b);
    case BinaryOperator::Equal:
      return Value::ofBool(a == b);
    default:
      return Value::ofBool(a != b);
    }
  }
  auto predicate = [&] {
    switch (op) {
    case BinaryOperator::Less:
      return arith::CmpFPredicate::OLT;
    case BinaryOperator::LessEqual:
      return arith::CmpFPredicate::OLE;
    case BinaryOperator::Greater:
      return arith::CmpFPredicate::OGT;
    case BinaryOperator::GreaterEqual:
      return arith::CmpFPredicate::OGE;
    case BinaryOperator::Equal:
      return arith::CmpFPredicate::OEQ;
    default:
      return arith::CmpFPredicate::UNE;
    }
  }();
  Extent extent = join(left.extent, right.extent);
  bool isElement = isTensorExtent(extent);
  Value result = Value::ofIr(Kind::Bool, extent,
                             create<arith::CmpFOp>(loc, predicate, operand(left, isElement, loc),
                                                   operand(right, isElement, loc)));
  result.holdsFor = shapesFor(op, left.side, right.side);
  return result;
}

/// Returns the shapes for which a comparison of rows with columns holds; nothing for others.
std::optional<MatrixShapes> Emitter::shapesFor(BinaryOperator op, Value::Side left,
                                               Value::Side right) {
  if (left == Value::Side::None || right == Value::Side::None)
    return std::nullopt;
  auto shapes = MatrixShapes(0);
  // For a wide matrix, rows are less than columns.
  for (auto [shape, order] :
       {std::pair(MatrixShapes::wide, -1), {MatrixShapes::square, 0}, {MatrixShapes::tall, 1}}) {
    int difference = left == right ? 0 : left == Value::Side::Rows ? order : -order;
    bool holds = op == BinaryOperator::Less           ? difference < 0
                 : op == BinaryOperator::LessEqual    ? difference <= 0
                 : op == BinaryOperator::Greater      ? difference > 0
                 : op == BinaryOperator::GreaterEqual ? difference >= 0
                 : op == BinaryOperator::Equal        ? difference == 0
                                                      : difference != 0;
    if (holds)
      shapes = shapes | shape;
  }
  return shapes;
}

// Returns an upper bound for the magnitude of an arithmetic result.
static double boundOf(BinaryOperator op, const Value &left, const Value &right) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double a = left.magnitude(), b = right.magnitude();
  if (std::isinf(a) || std::isinf(b))
    return infinity;
  switch (op) {
  case BinaryOperator::Add:
  case BinaryOperator::Subtract:
    return a + b;
  case BinaryOperator::Multiply:
    return a * b;
  default:
    return right.isConstant() && b != 0 ? a / b : infinity;
  }
}

Value Emitter::binary(BinaryOperator op, Value left, Value right, Location loc) {
  Extent extent = join(left.extent, right.extent);
  bool bothConstant = left.isConstant() && right.isConstant();

  if (left.kind == Kind::String) {
    bool equal = left.string == right.string;
    return Value::ofBool(op == BinaryOperator::Equal ? equal : !equal);
  }
  if (left.kind == Kind::Bool) {
    if (bothConstant) {
      bool a = left.boolean, b = right.boolean;
      switch (op) {
      case BinaryOperator::And:
        return Value::ofBool(a && b);
      case BinaryOperator::Or:
        return Value::ofBool(a || b);
      case BinaryOperator::Equal:
        return Value::ofBool(a == b);
      default:
        return Value::ofBool(a != b);
      }
    }
    mlir::Value a = flag(left, loc), b = flag(right, loc), result;
    switch (op) {
    case BinaryOperator::And:
      result = create<arith::AndIOp>(loc, a, b);
      break;
    case BinaryOperator::Or:
      result = create<arith::OrIOp>(loc, a, b);
      break;
    case BinaryOperator::Equal:
      result = create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a, b);
      break;
    default:
      result = create<arith::XOrIOp>(loc, a, b);
      break;
    }
    Value value = Value::ofIr(Kind::Bool, extent, result);
    if (left.holdsFor && right.holdsFor && op == BinaryOperator::And)
      value.holdsFor = *left.holdsFor & *right.holdsFor;
    if (left.holdsFor && right.holdsFor && op == BinaryOperator::Or)
      value.holdsFor = *left.holdsFor | *right.holdsFor;
    return value;
  }
  if (op >= BinaryOperator::Less)
    return compare(op, left, right, loc);

  if (bothConstant) {
    double a = left.number, b = right.number;
    switch (op) {
    case BinaryOperator::Add:
      return Value::ofNumber(a + b);
    case BinaryOperator::Subtract:
      return Value::ofNumber(a - b);
    case BinaryOperator::Multiply:
      return Value::ofNumber(a * b);
    default:
      return Value::ofNumber(a / b);
    }
  }
  bool isElement = isTensorExtent(extent);
  mlir::Value a = operand(left, isElement, loc), b = operand(right, isElement, loc), result;
  switch (op) {
  case BinaryOperator::Add:
    result = create<arith::AddFOp>(loc, a, b);
    break;
  case BinaryOperator::Subtract:
    result = create<arith::SubFOp>(loc, a, b);
    break;
  case BinaryOperator::Multiply:
    result = create<arith::MulFOp>(loc, a, b);
    break;
  default:
    result = create<arith::DivFOp>(loc, a, b);
    break;
  }
  Value value = Value::ofIr(Kind::Number, extent, result);
  value.isInteger =
      op != BinaryOperator::Divide && left.hasIntegerValues() && right.hasIntegerValues();
  value.bound = boundOf(op, left, right);
  return value;
}

bool Emitter::isExpandedExponent(double exponent) {
  return exponent == 0.5 ||
         (std::floor(exponent) == exponent && std::fabs(exponent) <= maxExpandedExponent);
}

// Squares from the lowest bit up; the exponents 2 and 3 give x * x and x * x * x.
Value Emitter::repeatedProduct(const Value &base, uint64_t exponent, Location loc) {
  std::optional<Value> product;
  Value square = base;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1)
      product = product ? binary(BinaryOperator::Multiply, square, *product, loc) : square;
    if (exponent > 1)
      square = binary(BinaryOperator::Multiply, square, square, loc);
  }
  return *product;
}

Value Emitter::power(Value base, Value exponent, Location loc) {
  Extent extent = join(base.extent, exponent.extent);
  const bool areConstant = base.isConstant() && exponent.isConstant();
  if (exponent.isConstant() &&
      (isExpandedExponent(exponent.number) || (areConstant && exponent.fitsInteger()))) {
    if (exponent.number == 0.5)
      return builtin(BuiltinKind::Sqrt, {base}, loc);
    if (exponent.number == 0)
      return Value::ofNumber(1);
    Value product = repeatedProduct(base, static_cast<uint64_t>(std::fabs(exponent.number)), loc);
    return exponent.number > 0 ? product
                               : binary(BinaryOperator::Divide, Value::ofNumber(1), product, loc);
  }
  if (areConstant)
    return Value::ofNumber(std::pow(base.number, exponent.number));
  bool isElement = isTensorExtent(extent);
  mlir::Value x = operand(base, isElement, loc), result;
  if (exponent.fitsInteger() && !isElement) {
    auto i64 = builder.getI64Type();
    mlir::Value n =
        exponent.ir ? create<arith::FPToSIOp>(loc, i64, exponent.ir)
                    : create<arith::ConstantOp>(
                          loc, builder.getI64IntegerAttr(static_cast<int64_t>(exponent.number)));
    result = create<math::FPowIOp>(loc, x, n);
  } else {
    result = createFunction<math::PowFOp>(loc, x, operand(exponent, isElement, loc));
  }
  return Value::ofIr(Kind::Number, extent, result);
}

Value Emitter::select(Value condition, Value whenTrue, Value whenFalse, Location loc) {
  Extent extent = join(condition.extent, join(whenTrue.extent, whenFalse.extent));
  bool isElement = isTensorExtent(extent);
  mlir::Value a, b;
  if (whenTrue.kind == Kind::Bool) {
    a = flag(whenTrue, loc);
    b = flag(whenFalse, loc);
  } else {
    a = operand(whenTrue, isElement, loc);
    b = operand(whenFalse, isElement, loc);
  }
  Value result =
      Value::ofIr(whenTrue.kind, extent, create<arith::SelectOp>(loc, condition.ir, a, b));
  if (result.kind == Kind::Number) {
    result.isInteger = whenTrue.hasIntegerValues() && whenFalse.hasIntegerValues();
    result.bound = std::max(whenTrue.magnitude(), whenFalse.magnitude());
  }
  return result;
}

namespace {
// Like arith.minimumf and maximumf: NaN if either is NaN, and -0 is less than +0.
double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  return a == b ? (std::signbit(a) ? a : b) : (a < b ? a : b);
}
double maximum(double a, double b) { return -minimum(-a, -b); }

double fold(BuiltinKind kind, llvm::ArrayRef<Value> arguments) {
  double x = arguments[0].number;
  switch (kind) {
  case BuiltinKind::Abs:
    return std::fabs(x);
  case BuiltinKind::Ceil:
    return std::ceil(x);
  case BuiltinKind::Exp:
    return std::exp(x);
  case BuiltinKind::Floor:
    return std::floor(x);
  case BuiltinKind::Fma:
    return std::fma(x, arguments[1].number, arguments[2].number);
  case BuiltinKind::Log:
    return std::log(x);
  case BuiltinKind::Max:
    return maximum(x, arguments[1].number);
  case BuiltinKind::Min:
    return minimum(x, arguments[1].number);
  case BuiltinKind::Pow:
    break; // Emitter::power folds it
  case BuiltinKind::Rounded:
    break; // depends on the compute type
  case BuiltinKind::Sqrt:
    return std::sqrt(x);
  case BuiltinKind::Tanh:
    return std::tanh(x);
  }
  return x;
}
} // namespace

// The value stays a scalar. `rounded` records the rounded element for uses as an element.
Value Emitter::roundToCompute(const Value &value, Location loc) {
  if (value.isConstant())
    return Value::ofNumber(compute.isF32() ? static_cast<float>(value.number) : value.number);
  if (value.ir.getType() == compute)
    return value;
  mlir::Value narrow = element(value, loc);
  mlir::Value wide = create<arith::ExtFOp>(loc, builder.getF64Type(), narrow);
  rounded[wide] = narrow;
  Value result = Value::ofIr(Kind::Number, value.extent, wide);
  result.isInteger = value.isInteger;
  return result;
}

Value Emitter::builtin(BuiltinKind kind, llvm::ArrayRef<Value> arguments, Location loc) {
  if (kind == BuiltinKind::Rounded)
    return roundToCompute(arguments[0], loc);
  if (kind == BuiltinKind::Pow)
    return power(arguments[0], arguments[1], loc);
  if (llvm::all_of(arguments, [](const Value &value) { return value.isConstant(); }))
    return Value::ofNumber(fold(kind, arguments));
  Extent extent = Extent::model;
  for (const Value &argument : arguments)
    extent = join(extent, argument.extent);

  llvm::SmallVector<mlir::Value, 3> x;
  for (const Value &argument : arguments)
    x.push_back(operand(argument, isTensorExtent(extent), loc));
  bool isInteger = false;
  double bound = std::numeric_limits<double>::infinity();
  auto result = [&]() -> mlir::Value {
    switch (kind) {
    case BuiltinKind::Abs:
      isInteger = arguments[0].hasIntegerValues();
      bound = arguments[0].magnitude();
      return create<math::AbsFOp>(loc, x[0]);
    case BuiltinKind::Ceil:
      isInteger = true;
      bound = arguments[0].magnitude() + 1;
      return create<math::CeilOp>(loc, x[0]);
    case BuiltinKind::Exp:
      return createFunction<math::ExpOp>(loc, x[0]);
    case BuiltinKind::Floor:
      isInteger = true;
      bound = arguments[0].magnitude() + 1;
      return create<math::FloorOp>(loc, x[0]);
    case BuiltinKind::Fma:
      return create<math::FmaOp>(loc, x[0], x[1], x[2]);
    case BuiltinKind::Log:
      return createFunction<math::LogOp>(loc, x[0]);
    case BuiltinKind::Max:
      isInteger = arguments[0].hasIntegerValues() && arguments[1].hasIntegerValues();
      bound = std::max(arguments[0].magnitude(), arguments[1].magnitude());
      return createFunction<arith::MaximumFOp>(loc, x[0], x[1]);
    case BuiltinKind::Min:
      isInteger = arguments[0].hasIntegerValues() && arguments[1].hasIntegerValues();
      bound = std::max(arguments[0].magnitude(), arguments[1].magnitude());
      return createFunction<arith::MinimumFOp>(loc, x[0], x[1]);
    case BuiltinKind::Pow:
    case BuiltinKind::Rounded:
      break;
    case BuiltinKind::Sqrt:
      return create<math::SqrtOp>(loc, x[0]);
    case BuiltinKind::Tanh:
      return createFunction<math::TanhOp>(loc, x[0]);
    }
    return x[0];
  }();
  Value value = Value::ofIr(Kind::Number, extent, result);
  value.isInteger = isInteger;
  value.bound = bound;
  return value;
}

/// Whether no folding can give `value` a smaller extent than `extent`. That of a choice may find
/// that both values are the same.
bool Emitter::keepsExtent(mlir::Value value, Extent extent) const {
  llvm::SmallVector<mlir::Value> open{value};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    mlir::Operation *operation = next.getDefiningOp();
    if (isa<arith::SelectOp>(operation) || !seen.insert(next).second)
      continue;
    if (!isa<InferExtentOpInterface>(operation))
      llvm::append_range(open, operation->getOperands());
    else if (auto known = matrices.find(next);
             isWithin(extent, known == matrices.end() ? extentOf(next) : known->second))
      return true;
  }
  return false;
}

mlir::Value Emitter::keptOver(Extent extent, mlir::Value value, Location loc) {
  return keepsExtent(value, extent) ? value
                                    : create<BroadcastOp>(loc, value.getType(), value, extent);
}

Value Emitter::reduce(const RuleFunction &function, llvm::ArrayRef<Value> arguments, Location loc) {
  llvm::SmallVector<Value, 2> operands(arguments);
  // A transposed matrix is reduced in the order of the parameter, as it lies in memory.
  for (Value &operand : operands)
    if (isTransposedExtent(operand.extent))
      operand = operand.ir == arguments[0].ir && &operand != operands.begin()
                    ? operands[0]
                    : transpose(operand, loc);
  Extent extent = join(operands.front().extent, operands.back().extent);
  mlir::Value input = element(operands[0], loc);
  if (operands.size() == 2) {
    auto extended = [&](mlir::Value x) -> mlir::Value {
      auto f64 = builder.getF64Type();
      return x.getType() == f64 ? x : create<arith::ExtFOp>(loc, f64, x);
    };
    mlir::Value left = extended(input);
    mlir::Value right =
        operands[0].ir == operands[1].ir ? left : extended(element(operands[1], loc));
    input = create<arith::MulFOp>(loc, left, right);
  }
  input = keptOver(extent, input, loc);
  auto reduceOver = [&](Extent over) -> mlir::Value {
    count += operationsOfReduction - 1;
    return create<ReduceOp>(loc, builder.getF64Type(), function.reduction, input, over);
  };
  // A matrix is reduced in two steps: first by its rows, or by its columns if it is one of columns
  // x columns, and then to one value per batch.
  if (function.over == Extent::batch && isMatrixExtent(extent))
    input = reduceOver(isWithin(Extent::row, extent) ? Extent::row : Extent::column);
  mlir::Value result = reduceOver(function.over);
  if (isTensorExtent(function.over) && result.getType() != compute)
    result = create<arith::TruncFOp>(loc, compute, result);
  return Value::ofIr(Kind::Number, function.over, result);
}

Value Emitter::ofMatrices(Extent extent, mlir::Value value) {
  matrices[value] = extent;
  return Value::ofIr(Kind::Number, extent, value);
}

Value Emitter::product(const Value &left, const Value &right, ProductKind kind, Location loc) {
  if (!kind.isSymmetric && left.ir.getDefiningOp<IdentityOp>())
    return right;
  if (!kind.isSymmetric && right.ir.getDefiningOp<IdentityOp>())
    return left;
  count += operationsOfProduct - 1;
  OperandFormatAttr format;
  if (kind.operandFormat)
    format = OperandFormatAttr::get(builder.getContext(), *kind.operandFormat);
  return ofMatrices(productOf(left.extent, right.extent),
                    create<ProductOp>(loc, compute, format, kind.isSymmetric,
                                      keptOver(left.extent, left.ir, loc),
                                      keptOver(right.extent, right.ir, loc)));
}

Value Emitter::transpose(const Value &matrix, Location loc) {
  return ofMatrices(transposed(matrix.extent),
                    create<TransposeOp>(loc, compute, keptOver(matrix.extent, matrix.ir, loc)));
}

Value Emitter::identity(const Value &matrix, Location loc) {
  Extent extent = squareOfRows(matrix.extent);
  return Value::ofIr(Kind::Number, extent, create<IdentityOp>(loc, compute, extent));
}

Value Emitter::functionOfMatrices(const RuleFunction &function, llvm::ArrayRef<Value> arguments,
                                  Extent extent, Location loc) {
  const Value &matrix = arguments[0];
  if (function.kind == RuleFunctionKind::Diagonal) {
    mlir::Value eye = create<IdentityOp>(loc, compute, matrix.extent);
    mlir::Value isOn =
        create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, eye, constant(1, compute, loc));
    mlir::Value kept = create<arith::SelectOp>(loc, isOn, keptOver(matrix.extent, matrix.ir, loc),
                                               constant(0, compute, loc));
    count += operationsOfReduction - 1;
    mlir::Value sum = create<ReduceOp>(loc, builder.getF64Type(), ReductionKind::sum, kept, extent);
    if (sum.getType() != compute)
      sum = create<arith::TruncFOp>(loc, compute, sum);
    return Value::ofIr(Kind::Number, extent, sum);
  }
  if (function.kind == RuleFunctionKind::ScaleColumns) {
    // Values per column multiply the columns of a matrix, and values per row the rows of another.
    if (isWithin(Extent::column, matrix.extent))
      return binary(BinaryOperator::Multiply, matrix, arguments[1], loc);
    return transpose(binary(BinaryOperator::Multiply, transpose(matrix, loc), arguments[1], loc),
                     loc);
  }
  count += operationsOfProduct - 1;
  auto operands = llvm::map_to_vector(arguments, [&](const Value &argument) {
    return keptOver(argument.extent, argument.ir, loc);
  });
  return ofMatrices(extent, create<ApplyOp>(loc, compute, function.applied, operands));
}

Value Emitter::size(Extent over, Location loc) {
  Extent extent = isWithin(over, Extent::group) ? Extent::group : Extent::tensor;
  Value value = Value::ofIr(Kind::Number, extent, create<SizeOp>(loc, builder.getF64Type(), over));
  value.isInteger = true;
  value.bound = 0x1p53;
  // There are as many values in a column as rows.
  value.side = over == Extent::column ? Value::Side::Rows
               : over == Extent::row  ? Value::Side::Columns
                                      : Value::Side::None;
  return value;
}

Value Emitter::sizeOf(const Value &matrix, Extent over, Location loc) {
  // The columns of a matrix are the rows of its transpose.
  Extent extent = over == Extent::column ? matrix.extent : transposed(matrix.extent);
  return size(isWithin(Extent::row, extent) ? Extent::column : Extent::row, loc);
}

Value Emitter::chosenCount(Location loc) {
  const Value sides[] = {size(Extent::column, loc), size(Extent::row, loc)};
  const Value shorter = builtin(BuiltinKind::Min, sides, loc);
  return builtin(BuiltinKind::Ceil,
                 binary(BinaryOperator::Multiply, Value::ofNumber(*chosenFraction), shorter, loc),
                 loc);
}

// Returns the number of values over `extent` in one place of `over`, a batch or the tensor. The
// number of elements in a row is the number of columns.
Value Emitter::valueCount(Extent extent, Extent over, Location loc) {
  auto multiply = [&](Value left, Value right) {
    return binary(BinaryOperator::Multiply, left, right, loc);
  };
  auto rows = [&] { return size(Extent::column, loc); };
  auto columns = [&] { return size(Extent::row, loc); };
  // A batch has chosen rows or columns in place of all.
  if (hasChosen(extent)) {
    auto side = [&](Extent down) {
      return isWithin(Extent::row, down)                  ? rows()
             : isWithin(Extent::column, transposed(down)) ? columns()
                                                          : chosenCount(loc);
    };
    Value ofBatch = multiply(side(extent), side(transposed(extent)));
    return over == Extent::batch
               ? ofBatch
               : multiply(ofBatch, valueCount(Extent::batch, Extent::tensor, loc));
  }
  if (over == Extent::batch)
    return extent == Extent::row                  ? rows()
           : extent == Extent::column             ? columns()
           : extent == Extent::rows_by_rows       ? multiply(rows(), rows())
           : extent == Extent::columns_by_columns ? multiply(columns(), columns())
                                                  : multiply(rows(), columns());
  auto divide = [&](Value left, Value right) {
    return binary(BinaryOperator::Divide, left, right, loc);
  };
  Value elements = size(Extent::tensor, loc);
  switch (extent) {
  case Extent::element:
  case Extent::transposed:
    return elements;
  case Extent::rows_by_rows:
    return multiply(divide(elements, columns()), rows());
  case Extent::columns_by_columns:
    return multiply(divide(elements, rows()), columns());
  case Extent::batch:
    return divide(elements, multiply(rows(), columns()));
  default:
    return divide(elements, size(extent, loc));
  }
}

// Scales as many upper bits as the compute type can hold to [0, 1).
Value Emitter::random(unsigned stream, Location loc) {
  unsigned digits = compute.isF64() ? 53 : 24;
  auto i64 = builder.getI64Type();
  mlir::Value bits = create<RandomOp>(loc, i64, builder.getI64IntegerAttr(stream));
  mlir::Value shift = create<arith::ConstantOp>(loc, builder.getI64IntegerAttr(64 - digits));
  mlir::Value integer = create<arith::ShRUIOp>(loc, bits, shift);
  mlir::Value whole = create<arith::SIToFPOp>(loc, compute, integer);
  Value value = Value::ofIr(
      Kind::Number, Extent::element,
      create<arith::MulFOp>(loc, whole, constant(std::ldexp(1.0, -int(digits)), compute, loc)));
  value.bound = 1;
  return value;
}
