//===- ExtentTest.cpp - The lattice of extents and the walk over a rule -----------------------===//

#include "Updraft/IR/Extent.h"

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace updraft;

namespace {

constexpr Extent all[] = {Extent::model, Extent::group,  Extent::tensor,
                          Extent::row,   Extent::column, Extent::element};

TEST(Extent, JoinIsTheLeastUpperBound) {
  for (Extent left : all)
    for (Extent right : all) {
      Extent both = join(left, right);
      EXPECT_EQ(both, join(right, left));
      EXPECT_TRUE(isWithin(left, both));
      EXPECT_TRUE(isWithin(right, both));
      for (Extent bound : all)
        if (isWithin(left, bound) && isWithin(right, bound)) {
          EXPECT_TRUE(isWithin(both, bound));
        }
    }
}

TEST(Extent, Order) {
  EXPECT_TRUE(isWithin(Extent::model, Extent::group));
  EXPECT_TRUE(isWithin(Extent::group, Extent::tensor));
  EXPECT_TRUE(isWithin(Extent::tensor, Extent::row));
  EXPECT_TRUE(isWithin(Extent::tensor, Extent::column));
  EXPECT_FALSE(isWithin(Extent::row, Extent::column));
  EXPECT_FALSE(isWithin(Extent::column, Extent::row));
  EXPECT_FALSE(isWithin(Extent::element, Extent::row));
  EXPECT_EQ(join(Extent::row, Extent::column), Extent::element);
}

TEST(Extent, OfTheValuesOfARule) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<UpdraftDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    updraft.rule @R compute f32 {
      %one = arith.constant 1.0 : f64
      %lr = updraft.hyper "lr" = 1.0
      %group = arith.addf %lr, %one : f64
      %step = updraft.step
      %tensor = arith.addf %group, %step : f64
      %param = updraft.param stored f32 : f32
      %grad = updraft.grad stored f32 : f32
      %k = arith.truncf %tensor : f64 to f32
      %element = arith.mulf %grad, %k : f32
      updraft.next %element : f32
    })",
                                            &context);
  ASSERT_TRUE(module);
  auto rule = formsIn<RuleOp>(*module)[0];
  ExtentAnalysis extents(rule);
  std::vector<Extent> found;
  for (Operation &operation : rule.getBody().front())
    found.push_back(extents.of(&operation));
  EXPECT_EQ(found, (std::vector<Extent>{Extent::model, Extent::group, Extent::group, Extent::tensor,
                                        Extent::tensor, Extent::element, Extent::element,
                                        Extent::tensor, Extent::element, Extent::element}));
}

} // namespace
