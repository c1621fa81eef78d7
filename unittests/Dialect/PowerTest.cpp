//===- PowerTest.cpp - Expanded powers against the algorithm that defines them ----------------===//
// Runs the expansion of `math.fpowi` operation by operation, and compares bits with the algorithm
// of docs/dialect.md.

#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace updraft;

namespace {

double definedPower(double base, int64_t exponent) {
  double result = 1, factor = base;
  uint64_t rest = exponent < 0 ? 0 - static_cast<uint64_t>(exponent) : exponent;
  while (rest != 0) {
    if (rest & 1)
      result *= factor;
    rest >>= 1;
    if (rest != 0)
      factor *= factor;
  }
  return exponent < 0 ? 1 / result : result;
}

/// Evaluates the operations of an expansion. Integers and doubles are stored as bits.
class Evaluator {
public:
  uint64_t get(Value value) { return values.lookup(value); }
  void set(Value value, uint64_t bits) { values[value] = bits; }
  double number(Value value) { return std::bit_cast<double>(get(value)); }
  void set(Value value, double number) { set(value, std::bit_cast<uint64_t>(number)); }

  void run(Block &block) {
    for (Operation &operation : block.without_terminator())
      run(&operation);
  }

private:
  void run(Operation *operation) {
    if (auto loop = dyn_cast<scf::WhileOp>(operation))
      return runLoop(loop);
    Value result = operation->getResult(0);
    auto left = [&] { return operation->getOperand(0); };
    auto right = [&] { return operation->getOperand(1); };
    if (auto constant = dyn_cast<arith::ConstantOp>(operation)) {
      if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
        set(result, number.getValueAsDouble());
      else
        set(result, cast<IntegerAttr>(constant.getValue()).getValue().getZExtValue());
    } else if (auto compare = dyn_cast<arith::CmpIOp>(operation)) {
      bool isLess = static_cast<int64_t>(get(left())) < static_cast<int64_t>(get(right()));
      bool holds = compare.getPredicate() == arith::CmpIPredicate::slt
                       ? isLess
                       : get(left()) != get(right());
      set(result, static_cast<uint64_t>(holds));
    } else if (isa<arith::BitcastOp>(operation)) {
      set(result, get(left()));
    } else if (isa<arith::SubIOp>(operation)) {
      set(result, get(left()) - get(right()));
    } else if (isa<arith::AndIOp>(operation)) {
      set(result, get(left()) & get(right()));
    } else if (isa<arith::ShRUIOp>(operation)) {
      set(result, get(left()) >> get(right()));
    } else if (isa<arith::SelectOp>(operation)) {
      set(result, get(left()) ? get(right()) : get(operation->getOperand(2)));
    } else if (isa<arith::MulFOp>(operation)) {
      set(result, number(left()) * number(right()));
    } else if (isa<arith::DivFOp>(operation)) {
      set(result, number(left()) / number(right()));
    } else {
      ADD_FAILURE() << "unexpected operation " << operation->getName().getStringRef().str();
    }
  }

  void assign(ValueRange targets, ValueRange sources) {
    SmallVector<uint64_t> bits;
    for (Value source : sources)
      bits.push_back(get(source));
    for (auto [target, value] : llvm::zip_equal(targets, bits))
      set(target, value);
  }

  void runLoop(scf::WhileOp loop) {
    assign(loop.getBeforeArguments(), loop.getInits());
    while (true) {
      run(*loop.getBeforeBody());
      scf::ConditionOp condition = loop.getConditionOp();
      if (!get(condition.getCondition()))
        return assign(loop.getResults(), condition.getArgs());
      assign(loop.getAfterArguments(), condition.getArgs());
      run(*loop.getAfterBody());
      assign(loop.getBeforeArguments(), loop.getYieldOp().getResults());
    }
  }

  DenseMap<Value, uint64_t> values;
};

/// A plan whose prologue yields base ^ exponent. A non-constant exponent is passed as a double with
/// the same bits.
std::string planText(std::optional<int64_t> exponent) {
  std::string constant = exponent ? "%n = arith.constant " + std::to_string(*exponent) + " : i64\n"
                                  : std::string("%n = arith.bitcast %bits : f64 to i64\n");
  return R"(
    updraft.plan @P compute f64 {
      %base = updraft.hyper "base" = 1.0
      %e = updraft.hyper "e" = 1.0
      %p = updraft.stream "param" : !updraft.stream<f64>
      %g = updraft.stream "grad" : !updraft.stream<f64>
      updraft.initial() { updraft.yield }
      updraft.validate() messages [] { updraft.yield }
      %k = updraft.prologue(%base, %e) : (f64, f64) -> f64 {
      ^bb0(%x: f64, %bits: f64):
        )" +
         constant + R"(
        %r = math.fpowi %x, %n : f64, i64
        updraft.yield %r : f64
      }
    })";
}

class PowerTest : public testing::Test {
protected:
  PowerTest() { context.loadDialect<UpdraftDialect>(); }

  OwningOpRef<ModuleOp> expand(std::optional<int64_t> exponent) {
    auto module = parseSourceString<ModuleOp>(planText(exponent), &context);
    PassManager passes(&context);
    passes.addPass(createExpandMathPass());
    if (!module || failed(passes.run(*module)))
      return {};
    return module;
  }

  /// Evaluates an expanded prologue.
  static double evaluate(ModuleOp module, double base, int64_t exponent) {
    auto plan = formsIn<PlanOp>(module)[0];
    Block &body = (*plan.getBody().getOps<PrologueOp>().begin()).getBody().front();
    Evaluator evaluator;
    evaluator.set(body.getArgument(0), base);
    evaluator.set(body.getArgument(1), static_cast<uint64_t>(exponent));
    evaluator.run(body);
    return evaluator.number(body.getTerminator()->getOperand(0));
  }

  static void expectSame(double found, double expected, double base, int64_t exponent) {
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(found)) << base << " ^ " << exponent;
    else
      EXPECT_EQ(std::bit_cast<uint64_t>(found), std::bit_cast<uint64_t>(expected))
          << base << " ^ " << exponent;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

constexpr double bases[] = {0.9,
                            0.999,
                            1.0,
                            -1.0,
                            -0.5,
                            0.0,
                            -0.0,
                            3.7,
                            1e300,
                            5e-324,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()};
constexpr int64_t exponents[] = {0,
                                 1,
                                 2,
                                 3,
                                 7,
                                 10,
                                 1000,
                                 123457,
                                 int64_t(1) << 53,
                                 (int64_t(1) << 53) - 1,
                                 std::numeric_limits<int64_t>::max(),
                                 -1,
                                 -2,
                                 -13,
                                 std::numeric_limits<int64_t>::min()};

TEST_F(PowerTest, Loop) {
  auto module = expand(std::nullopt);
  ASSERT_TRUE(module);
  for (double base : bases)
    for (int64_t exponent : exponents)
      expectSame(evaluate(*module, base, exponent), definedPower(base, exponent), base, exponent);
}

TEST_F(PowerTest, KnownExponents) {
  for (int64_t exponent : exponents) {
    auto module = expand(exponent);
    ASSERT_TRUE(module);
    for (double base : bases)
      expectSame(evaluate(*module, base, exponent), definedPower(base, exponent), base, exponent);
  }
}

} // namespace
