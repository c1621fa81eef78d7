//===- Formula.cpp - Values as formulas -------------------------------------------------------===//

#include "Formula.h"

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <fmt/format.h>

using namespace mlir;

namespace {
/// The precedence of the outermost operator of a text, as in the language.
enum class Binding { If, Or, And, Compare, Add, Multiply, Unary, Power, Primary };

struct Formula {
  std::string text;
  Binding binding;
};

/// The state for printing one formula.
struct Context {
  llvm::SetVector<Value> &named;
  /// The number of operations that may still be printed. A value that is used twice is printed
  /// twice, which could double the text at each level.
  unsigned budget = 64;
};

Formula make(Value value, Context &context, bool isRoot = false);

/// Returns the text of an operand, in parentheses if its precedence is lower than `least`.
std::string operand(Value value, Binding least, Context &context, bool isRoot = false) {
  Formula formula = make(value, context, isRoot);
  return formula.binding < least ? "(" + formula.text + ")" : formula.text;
}

Formula binary(Operation &op, llvm::StringRef symbol, Binding binding, Context &context) {
  // Operators are left-associative, so the right operand must bind more tightly.
  auto tighter = static_cast<Binding>(static_cast<int>(binding) + 1);
  return {operand(op.getOperand(0), binding, context) + " " + symbol.str() + " " +
              operand(op.getOperand(1), tighter, context),
          binding};
}

Formula call(Operation &op, llvm::StringRef name, Context &context) {
  std::string text = name.str() + "(";
  for (auto [index, argument] : llvm::enumerate(op.getOperands()))
    text += (index ? ", " : "") + make(argument, context).text;
  return {text + ")", Binding::Primary};
}

llvm::StringRef symbolOf(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return "==";
  case arith::CmpFPredicate::UNE:
    return "!=";
  case arith::CmpFPredicate::OLT:
    return "<";
  case arith::CmpFPredicate::OLE:
    return "<=";
  case arith::CmpFPredicate::OGT:
    return ">";
  case arith::CmpFPredicate::OGE:
    return ">=";
  default:
    return "?";
  }
}

Formula constant(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value); number && number.getType().isF32())
    return {fmt::format("{}", number.getValue().convertToFloat()), Binding::Primary};
  if (auto number = dyn_cast<FloatAttr>(value))
    return {fmt::format("{}", number.getValueAsDouble()), Binding::Primary};
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    if (number.getType().isInteger(1))
      return {number.getValue().isZero() ? "false" : "true", Binding::Primary};
    return {fmt::format("{}", number.getInt()), Binding::Primary};
  }
  return {"?", Binding::Primary};
}

/// Describes a prologue's argument without a name: a size, or a reduction of a sweep.
std::string describeArgument(BlockArgument argument) {
  auto prologue = dyn_cast<updraft::PrologueOp>(argument.getOwner()->getParentOp());
  if (!prologue)
    return "argument";
  Value input = prologue.getInputs()[argument.getArgNumber()];
  if (input.getDefiningOp<updraft::FirstOp>())
    return "first";
  if (auto size = input.getDefiningOp<updraft::SizeOp>())
    return ("[size over " + stringifyExtent(size.getOver()) + "]").str();
  if (auto sweep = input.getDefiningOp<updraft::SweepOp>()) {
    unsigned index = cast<OpResult>(input).getResultNumber();
    updraft::ReductionAttr reduction = llvm::to_vector(sweep.getReductionRange())[index];
    return fmt::format("[{} over {} #{}]", stringifyReductionKind(reduction.getKind()).str(),
                       stringifyExtent(reduction.getOver()).str(), index);
  }
  return "argument";
}

Formula make(Value value, Context &context, bool isRoot) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto name = value.getLoc()->findInstanceOf<NameLoc>();
    return {name ? name.getName().str() : describeArgument(cast<BlockArgument>(value)),
            Binding::Primary};
  }
  if (Attribute attribute; matchPattern(op, m_Constant(&attribute)))
    return constant(attribute);
  if (auto name = dyn_cast<NameLoc>(value.getLoc()); name && !isRoot) {
    context.named.insert(value);
    return {name.getName().str(), Binding::Primary};
  }
  if (context.budget == 0)
    return {"…", Binding::Primary};
  --context.budget;
  return llvm::TypeSwitch<Operation *, Formula>(op)
      .Case<arith::TruncFOp, arith::ExtFOp, arith::SIToFPOp, arith::FPToSIOp, arith::UIToFPOp>(
          [&](auto conversion) { return make(conversion->getOperand(0), context); })
      .Case([&](arith::AddFOp) { return binary(*op, "+", Binding::Add, context); })
      .Case([&](arith::SubFOp) { return binary(*op, "-", Binding::Add, context); })
      .Case([&](arith::MulFOp) { return binary(*op, "*", Binding::Multiply, context); })
      .Case([&](arith::DivFOp) { return binary(*op, "/", Binding::Multiply, context); })
      .Case<math::PowFOp, math::FPowIOp>(
          [&](auto) { return binary(*op, "^", Binding::Power, context); })
      .Case([&](arith::NegFOp) {
        return Formula{"-" + operand(op->getOperand(0), Binding::Unary, context), Binding::Unary};
      })
      .Case([&](arith::CmpFOp compare) {
        return binary(*op, symbolOf(compare.getPredicate()), Binding::Compare, context);
      })
      .Case([&](arith::XOrIOp) -> Formula {
        if (!matchPattern(op->getOperand(1), m_One()))
          return binary(*op, "!=", Binding::Compare, context);
        return {"!" + operand(op->getOperand(0), Binding::Unary, context), Binding::Unary};
      })
      .Case([&](arith::AndIOp) { return binary(*op, "&&", Binding::And, context); })
      .Case([&](arith::OrIOp) { return binary(*op, "||", Binding::Or, context); })
      .Case([&](arith::SelectOp select) {
        return Formula{"if " + make(select.getCondition(), context).text + " then " +
                           make(select.getTrueValue(), context).text + " else " +
                           make(select.getFalseValue(), context).text,
                       Binding::If};
      })
      .Case([&](arith::MaximumFOp) { return call(*op, "max", context); })
      .Case([&](arith::MinimumFOp) { return call(*op, "min", context); })
      .Default([&](Operation *) { return call(*op, op->getName().stripDialect(), context); });
}
} // namespace

std::string updraft::formulaOf(Value value, llvm::SetVector<Value> &named, bool isFactor) {
  Context context{named};
  // Conversions have no text; the root is the converted value.
  while (isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return operand(value, isFactor ? Binding::Multiply : Binding::If, context, /*isRoot=*/true);
}
