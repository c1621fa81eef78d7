//===- ProductTests.cpp - Products and transposes, computed by hand ---------------------------===//

#include "ParsedRule.h"

#include "gmock/gmock.h"

#include <cmath>

using namespace updraft::reference;
using testing::ElementsAre;

namespace {

/// A rule for matrices whose body defines %y, the next parameter, from %p and %g.
Interpreter matrixRule(const std::string &type, const std::string &body) {
  return interpretOrDie("updraft.rule @R compute " + type +
                        " matrix {\n%p = updraft.param stored " + type + " : " + type +
                        "\n%g = updraft.grad stored " + type + " : " + type + "\n" + body +
                        "updraft.next %y : " + type + "\n}");
}

template <typename T>
void step(const Interpreter &rule, Shape shape, std::vector<T> &param, std::vector<T> grad) {
  TensorStep tensor;
  tensor.rule = &rule;
  tensor.shape = shape;
  tensor.buffers = {param.data(), grad.data()};
  EXPECT_THAT(stepGroup({}, {tensor}), ElementsAre(false));
}

/// The parameter after a step with the parameter (1 0 0, 0 1 0) and the gradient (1 2 3, 4 5 6).
std::vector<double> stepOfTwoByThree(const std::string &body) {
  std::vector<double> param = {1, 0, 0, 0, 1, 0};
  step(matrixRule("f64", body), Shape::of({2, 3}), param, {1, 2, 3, 4, 5, 6});
  return param;
}

TEST(Product, IsOfRowsAndColumns) {
  // The product of g and its transpose is (14 32, 32 77).
  EXPECT_THAT(stepOfTwoByThree(R"(
    %t = updraft.transpose %g : f64
    %gram = updraft.product %g, %t : f64
    %y = updraft.product %gram, %g : f64
  )"),
              ElementsAre(142, 188, 234, 340, 449, 558));
  // That of the transpose and g is (17 22 27, 22 29 36, 27 36 45).
  EXPECT_THAT(stepOfTwoByThree(R"(
    %t = updraft.transpose %g : f64
    %gram = updraft.product %t, %g : f64
    %y = updraft.product %p, %gram : f64
  )"),
              ElementsAre(17, 22, 27, 22, 29, 36));
}

TEST(Product, OfASymmetricMatrixCopiesTheLowerTriangle) {
  // The product of g and the transpose of p is (1 2, 4 5), and becomes (1 4, 4 5).
  const std::string body = R"( %g, %t : f64
    %y = updraft.product %s, %g : f64
  )";
  const std::string start = "%t = updraft.transpose %p : f64\n";
  EXPECT_THAT(stepOfTwoByThree(start + "%s = updraft.product symmetric" + body),
              ElementsAre(17, 22, 27, 24, 33, 42));
  EXPECT_THAT(stepOfTwoByThree(start + "%s = updraft.product" + body),
              ElementsAre(9, 12, 15, 24, 33, 42));
}

TEST(Product, IsAChainOfFusedMultiplyAdds) {
  const Interpreter rule = matrixRule("f32", R"(
    %t = updraft.transpose %g : f32
    %s = updraft.product %p, %t : f32
    %y = updraft.product %s, %p : f32
  )");
  // The second multiplication is exact: x * x - (1 + 2^-11) is 2^-24, and 0 if x * x is rounded.
  const float x = 1 + 0x1p-12f;
  std::vector<float> param = {1, x};
  step(rule, Shape::of({1, 2}), param, {-(1 + 0x1p-11f), x});
  EXPECT_THAT(param, ElementsAre(0x1p-24f, 0x1p-24f * x));
}

TEST(Product, BeginsWithPositiveZero) {
  std::vector<double> param = {1, -0.0}, grad = {-0.0, 0.0};
  step(matrixRule("f64", R"(
    %t = updraft.transpose %g : f64
    %s = updraft.product %p, %t : f64
    %y = updraft.product %s, %p : f64
  )"),
       Shape::of({1, 2}), param, grad);
  EXPECT_FALSE(std::signbit(param[0]));
}

TEST(Product, OfEachBatchIsItsOwn) {
  std::vector<double> param(4);
  step(matrixRule("f64", R"(
    %t = updraft.transpose %g : f64
    %gram = updraft.product %g, %t : f64
    %y = updraft.product %gram, %g : f64
  )"),
       Shape::of({2, 1, 2}), param, {1, 2, 3, 4});
  EXPECT_THAT(param, ElementsAre(5, 10, 75, 100));
}

TEST(Product, TakesComputedMatrices) {
  // (g + p) is (2 2 3, 4 6 6); its product with the transpose of g is (15 36, 34 82).
  EXPECT_THAT(stepOfTwoByThree(R"(
    %a = arith.addf %g, %p : f64
    %t = updraft.transpose %g : f64
    %s = updraft.product %a, %t : f64
    %two = arith.constant 2.0 : f64
    %d = arith.mulf %s, %two : f64
    %y = updraft.product %d, %p : f64
  )"),
              ElementsAre(30, 72, 0, 68, 164, 0));
}

TEST(Product, IsReduced) {
  const std::string gram = R"(
    %t = updraft.transpose %g : f64
    %s = updraft.product %g, %t : f64
  )";
  EXPECT_THAT(stepOfTwoByThree(gram + R"(
    %n = updraft.reduce sum %s over tensor : f64
    %y = arith.addf %p, %n : f64
  )"),
              ElementsAre(156, 155, 155, 155, 156, 155));
  EXPECT_THAT(stepOfTwoByThree(gram + R"(
    %n = updraft.reduce max %s over row : f64
    %y = arith.addf %p, %n : f64
  )"),
              ElementsAre(33, 32, 32, 77, 78, 77));
  EXPECT_THAT(stepOfTwoByThree(R"(
    %t = updraft.transpose %g : f64
    %s = updraft.product %t, %g : f64
    %n = updraft.reduce sum %s over column : f64
    %y = arith.addf %p, %n : f64
  )"),
              ElementsAre(67, 87, 108, 66, 88, 108));
}

TEST(Product, OfNoElementsIsZero) {
  std::vector<double> param;
  const std::string body = R"(
    %t = updraft.transpose %g : f64
    %gram = updraft.product %g, %t : f64
    %y = updraft.product %gram, %g : f64
  )";
  step(matrixRule("f64", body), Shape::of({0, 3}), param, {});
  step(matrixRule("f64", body), Shape::of({3, 0}), param, {});
  EXPECT_TRUE(param.empty());
}

TEST(Transpose, ExchangesRowsAndColumns) {
  EXPECT_THAT(stepOfTwoByThree(R"(
    %gt = updraft.transpose %g : f64
    %pt = updraft.transpose %p : f64
    %a = arith.subf %gt, %pt : f64
    %y = updraft.transpose %a : f64
  )"),
              ElementsAre(0, 2, 3, 4, 4, 6));
  // The product of g and the transpose of p is (1 2, 4 5).
  EXPECT_THAT(stepOfTwoByThree(R"(
    %pt = updraft.transpose %p : f64
    %s = updraft.product %g, %pt : f64
    %st = updraft.transpose %s : f64
    %y = updraft.product %st, %p : f64
  )"),
              ElementsAre(1, 4, 0, 2, 5, 0));
}

/// A step with the parameter (1 0 0, 0 1 0), the gradient (1 2 3, 4 5 6) and a state over square
/// matrices.
struct SquareStep {
  std::vector<double> param = {1, 0, 0, 0, 1, 0}, grad = {1, 2, 3, 4, 5, 6}, state;

  SquareStep(const std::string &over, std::vector<double> before, const std::string &body)
      : state(std::move(before)) {
    const Interpreter rule = interpretOrDie(R"(updraft.rule @R compute f64 matrix {
      %zero = arith.constant 0.0 : f64
      %p = updraft.param stored f64 : f64
      %g = updraft.grad stored f64 : f64
      %s = updraft.state "s" over )" + over +
                                            R"( stored f64 initial %zero : f64
      %t = updraft.transpose %g : f64
      )" + body + "updraft.next %y, %n : f64, f64\n}");
    TensorStep tensor;
    tensor.rule = &rule;
    tensor.shape = Shape::of({2, 3});
    tensor.buffers = {param.data(), grad.data(), state.data()};
    EXPECT_THAT(stepGroup({}, {tensor}), ElementsAre(false));
  }
};

TEST(SquareState, IsMultipliedAndStored) {
  // (1 2, 0 1) times g is (9 12 15, 4 5 6). The product of g and its transpose is (14 32, 32 77).
  const SquareStep rows("rows_by_rows", {1, 2, 0, 1}, R"(
      %y = updraft.product %s, %g : f64
      %gram = updraft.product %g, %t : f64
      %n = arith.subf %gram, %s : f64
  )");
  EXPECT_THAT(rows.param, ElementsAre(9, 12, 15, 4, 5, 6));
  EXPECT_THAT(rows.state, ElementsAre(13, 30, 32, 76));
  const SquareStep columns("columns_by_columns", {0, 1, 0, 0, 0, 1, 1, 0, 0}, R"(
      %y = updraft.product %g, %s : f64
      %u = updraft.transpose %s : f64
      %n = updraft.product %u, %s : f64
  )");
  EXPECT_THAT(columns.param, ElementsAre(3, 1, 2, 6, 4, 5));
  EXPECT_THAT(columns.state, ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
}

TEST(SquareState, CombinesWithTheIdentityAndRows) {
  const SquareStep rows("rows_by_rows", {1, 2, 3, 4}, R"(
      %i = updraft.identity over rows_by_rows : f64
      %r = updraft.reduce sum %g over row : f64
      %a = arith.addf %s, %i : f64
      %n = arith.mulf %a, %r : f64
      %y = updraft.product %i, %p : f64
  )");
  EXPECT_THAT(rows.param, ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(rows.state, ElementsAre(12, 12, 45, 75));
}

} // namespace
