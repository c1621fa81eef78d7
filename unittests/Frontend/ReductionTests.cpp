//===- ReductionTests.cpp - Reductions, extents of states, skip, random numbers ---------------===//

#include "ImportedText.h"

#include <gmock/gmock.h>

using namespace updraft;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using updraft::test::importedText;

namespace {
std::string importExpression(const std::string &expression, const RuleRequest &request = {}) {
  return importedText(
      "rule R(lr = 1) {\n  update(param, grad) { next param = " + expression + " }\n}", request);
}

size_t count(const std::string &text, llvm::StringRef part) {
  return llvm::StringRef(text).count(part);
}

TEST(Reductions, OverTheTensorAreScalars) {
  EXPECT_THAT(importExpression("param * sum(grad)"),
              HasSubstr("updraft.reduce sum %grad over tensor : f32"));
  EXPECT_THAT(importExpression("param * max(abs(grad))"),
              HasSubstr("updraft.reduce max %0 over tensor : f32"));
  EXPECT_THAT(importExpression("param * max(grad, lr)"), HasSubstr("arith.maximumf"));
  // In f64 until it is combined with a tensor.
  EXPECT_THAT(importExpression("param * (1 + sum(grad))"), HasSubstr("arith.addf %cst, %0 : f64"));
}

TEST(Reductions, TheMeanOfAValuePerRowIsThatOfTheRows) {
  std::string text =
      importExpression("if matrix then param - mean(row_sum(grad)) else param - mean(grad)");
  auto [vectors, matrices] = llvm::StringRef(text).split("@R_matrix");
  EXPECT_EQ(count(vectors.str(), "updraft.size over tensor"), 1u);
  EXPECT_EQ(count(vectors.str(), "updraft.size over row"), 0u);
  EXPECT_EQ(count(matrices.str(), "updraft.size over tensor"), 1u);
  EXPECT_EQ(count(matrices.str(), "updraft.size over row"), 1u);
}

TEST(Reductions, OverTheGroup) {
  EXPECT_THAT(importExpression("param * group_sum(grad)"),
              HasSubstr("updraft.reduce sum %grad over group : f32"));
  EXPECT_THAT(importExpression("param * group_max(grad)"),
              HasSubstr("updraft.reduce max %grad over group : f32"));
  std::string norm = importExpression("param / global_norm(grad)");
  EXPECT_THAT(norm, AllOf(HasSubstr("over group : f64"), HasSubstr("math.sqrt")));
}

// Products are computed in f64, so squares of small numbers don't underflow.
TEST(Reductions, OfAProductAreInF64) {
  std::string norm = importExpression("param / norm(grad)");
  EXPECT_THAT(norm, AllOf(HasSubstr("arith.extf %grad : f32 to f64"),
                          HasSubstr("over tensor : f64"), HasSubstr(" : f64\n")));
  EXPECT_EQ(count(norm, "arith.extf"), 1u) << norm;
  EXPECT_EQ(count(importExpression("param * dot(param, grad)"), "arith.extf"), 2u);
  std::string wide =
      importExpression("param / norm(grad)", {"", {}, {{"param", StorageType::F64}}});
  EXPECT_THAT(wide, Not(HasSubstr("arith.extf")));
}

TEST(Reductions, SizesAreScalars) {
  EXPECT_THAT(importExpression("param * mean(grad)"), HasSubstr("updraft.size over tensor"));
  EXPECT_THAT(importExpression("param / group_size()"), HasSubstr("updraft.size over group"));
  EXPECT_THAT(importExpression("param * 2 ^ -size()"), HasSubstr("math.fpowi"));
}

TEST(Matrix, ARuleThatMentionsItIsTwo) {
  std::string text = importExpression("if matrix then param - row_mean(grad) else param");
  EXPECT_THAT(text, AllOf(HasSubstr("updraft.rule @R compute f32 {"),
                          HasSubstr("updraft.rule @R_matrix compute f32 matrix {")));
  EXPECT_EQ(count(text, "updraft.reduce sum %grad over row"), 1u) << text;
  // A row has as many elements as there are columns.
  EXPECT_THAT(text, HasSubstr("updraft.size over row"));
  EXPECT_EQ(count(importExpression("param - grad"), "updraft.rule"), 1u);
}

// Rounded to the compute type, and an ordinary operand of element arithmetic.
TEST(Matrix, RowAndColumnValuesAreTensors) {
  std::string text =
      importExpression("if matrix then grad * sqrt(row_sum(grad) * column_max(grad)) else param");
  EXPECT_THAT(text, AllOf(HasSubstr("over row : f32"), HasSubstr("over column : f32")));
  EXPECT_EQ(count(text, "arith.truncf"), 2u) << text;
  EXPECT_THAT(text, HasSubstr("math.sqrt %4 : f32"));
  EXPECT_THAT(importExpression("if matrix then param * sum(row_max(grad)) else param"),
              HasSubstr("over tensor : f32"));
}

TEST(States, HaveTheExtentOfTheirDeclaration) {
  std::string text = importedText(R"(rule R(lr = 1) {
    state mu over tensor = 1 : f32
    state d over group = 0
    state r over row = 0 when matrix
    state v = 0 when !matrix
    update(param, grad) {
      next mu = mu * 0.9
      next d = max(d, group_max(grad))
      next r = if matrix then row_mean(grad) else 0
      next v = grad
      next param = param - lr * mu * d * (if matrix then r else v)
    }
  })");
  auto [vector, matrix] = llvm::StringRef(text).split("@R_matrix");
  for (llvm::StringRef rule : {vector, matrix}) {
    EXPECT_TRUE(rule.contains("updraft.state \"mu\" over tensor stored f32 initial %cst")) << text;
    // Stored with the precision of the computation.
    EXPECT_TRUE(rule.contains("updraft.state \"d\" over group stored f64 initial")) << text;
  }
  EXPECT_TRUE(vector.contains("updraft.state \"v\" stored f32"));
  EXPECT_FALSE(vector.contains("\"r\""));
  EXPECT_TRUE(matrix.contains("updraft.state \"r\" over row stored f32"));
  EXPECT_FALSE(matrix.contains("\"v\""));
}

// The type of scalar states doesn't make the elements f64, and `state=` doesn't affect it.
TEST(States, ScalarsAreStoredAsDeclaredOrByName) {
  std::string source = "rule R(lr = 1) { state n over tensor = 0 state m = 0\n"
                       "update(param, grad) { next n = n + 1 next m = grad\n"
                       "next param = param - m * n } }";
  EXPECT_THAT(importedText(source), HasSubstr("compute f32"));
  EXPECT_THAT(importedText(source, {"", {}, {{"state", StorageType::BF16}}}),
              AllOf(HasSubstr("\"n\" over tensor stored f64"), HasSubstr("\"m\" stored bf16")));
  EXPECT_THAT(importedText(source, {"", {}, {{"n", StorageType::F32}}}),
              HasSubstr("\"n\" over tensor stored f32"));
}

TEST(States, InitialValueFromTheParameterIsChosenAtTheFirstStep) {
  std::string text = importedText(R"(rule R(lr = 1) {
    state start = param : f32
    state size0 over tensor = norm(grad)
    update(param, grad) { next param = start - lr * grad * size0 }
  })");
  EXPECT_THAT(text, HasSubstr("arith.select %first, %param, %start : f32"));
  EXPECT_THAT(text, HasSubstr(", %size0 : f64"));
  // Without a `next`, the chosen value is kept.
  llvm::StringRef next = llvm::StringRef(text).split("updraft.next").second;
  EXPECT_FALSE(next.contains("%start,")) << text;
}

// Elements are processed by rows. The number of values in a batch is known for each tensor.
TEST(Reductions, OverBatches) {
  std::string text = importedText(R"(rule R() {
    update(param, grad) {
      let size = if matrix then batch_norm(grad) else norm(grad)
      let average = if matrix then batch_mean(row_max(grad)) + mean(size) else 1
      next param = param - size * average * grad
    }
  })");
  llvm::StringRef matrix = llvm::StringRef(text).split("@R_matrix").second;
  auto [elements, rows] = matrix.split("updraft.reduce max %grad over row");
  EXPECT_TRUE(elements.contains("over row : f64")) << text;
  EXPECT_TRUE(elements.contains("over batch : f64")) << text;
  EXPECT_TRUE(rows.contains("over batch : f32")) << text;
  EXPECT_TRUE(rows.contains("updraft.size over column")) << text;
  EXPECT_TRUE(rows.contains("over tensor : f32")) << text;
}

TEST(Skip, IsAConditionOnTheTensor) {
  std::string text = importedText(R"(rule R(lr = 1) {
    update(param, grad) {
      skip when lr == 0
      skip when !isfinite(sum(grad))
      next param = param - lr * grad
    }
  })");
  EXPECT_THAT(text, AllOf(HasSubstr("arith.ori"), HasSubstr("skip(%")));
  EXPECT_THAT(importedText("rule R(static always = false) { update(param, grad) {\n"
                           "skip when always next param = param - grad } }"),
              Not(HasSubstr("skip")));
}

TEST(Random, EachCallHasItsStream) {
  std::string text = importExpression("param + random() * random()");
  EXPECT_THAT(text, AllOf(HasSubstr("updraft.random 0"), HasSubstr("updraft.random 1"),
                          HasSubstr("arith.constant 40 : i64")));
  EXPECT_THAT(importExpression("param + random()", {"", {}, {{"grad", StorageType::F64}}}),
              HasSubstr("arith.constant 11 : i64"));
  EXPECT_THAT(importedText("fn noise() = random() + random()\n"
                           "rule R() { update(param) { next param = param + noise() * noise() } }"),
              HasSubstr("updraft.random 3"));
}
} // namespace
