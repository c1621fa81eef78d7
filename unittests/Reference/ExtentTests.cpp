//===- ExtentTests.cpp - Rules with values of all extents, against plain code -----------------===//

#include "ParsedRule.h"

#include "updraft/Reference/Philox.h"
#include "gmock/gmock.h"

#include <cmath>

using namespace updraft::reference;
using testing::ElementsAre;

namespace {

constexpr double tiny = 0x1p-53;

TensorStep tensorStep(const Interpreter &rule, Shape shape, std::vector<void *> buffers) {
  TensorStep tensor;
  tensor.rule = &rule;
  tensor.shape = shape;
  tensor.buffers = std::move(buffers);
  return tensor;
}

// The parameter becomes the reduction. A state over the tensor counts steps and has a narrow type.
std::string sumRule(const std::string &over) {
  return R"(updraft.rule @Sum compute f64 {
  %p = updraft.param stored f64 : f64
  %g = updraft.grad stored f64 : f64
  %s = updraft.reduce sum %g over )" +
         over + R"( : f64
  updraft.next %s : f64
})";
}

TEST(Extent, AScalarOfTheTensorReachesEveryElement) {
  Interpreter rule = interpretOrDie(sumRule("tensor"));
  std::vector<double> param(5), grad = {1, 2, 3, 4, 5};
  EXPECT_FALSE(rule.step({}, 1, true, {param.data(), grad.data()}, 5));
  EXPECT_THAT(param, ElementsAre(15, 15, 15, 15, 15));
}

TEST(Extent, ElementsAreComputedBeforeTheyAreReducedAndAgainAfter) {
  Interpreter rule = interpretOrDie(R"(updraft.rule @Normalised compute f32 {
    %lr = updraft.hyper "lr" = 0.5
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored bf16 : f32
    %d = arith.addf %g, %p : f32
    %w = arith.extf %d : f32 to f64
    %q = arith.mulf %w, %w : f64
    %n2 = updraft.reduce sum %q over tensor : f64
    %n = math.sqrt %n2 : f64
    %rate = arith.divf %lr, %n : f64
    %k = arith.truncf %rate : f64 to f32
    %c = arith.mulf %k, %d : f32
    %next = arith.subf %p, %c : f32
    updraft.next %next : f32
  })");
  constexpr int count = 200;
  std::vector<float> param(count), expected(count);
  std::vector<uint16_t> grad(count);
  double lanes[128] = {};
  for (int i = 0; i < count; ++i) {
    param[i] = 0.1f * float(i) - 7;
    storeElement(StorageFormat::BF16, grad.data(), i, std::cos(i));
    const float d = float(loadElement(StorageFormat::BF16, grad.data(), i)) + param[i];
    lanes[i % 128] += double(d) * double(d);
  }
  for (int half = 64; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      lanes[i] += lanes[i + half];
  for (int i = 0; i < count; ++i) {
    const float d = float(loadElement(StorageFormat::BF16, grad.data(), i)) + param[i];
    const float change = float(0.5 / std::sqrt(lanes[0])) * d;
    expected[i] = param[i] - change;
  }
  rule.step({0.5}, 1, true, {param.data(), grad.data()}, count);
  EXPECT_EQ(param, expected);
}

TEST(Extent, GroupReductionsPairTensorsInOrder) {
  Interpreter rule = interpretOrDie(sumRule("group"));
  double params[3] = {}, grads[3] = {1, tiny, tiny};
  const auto step = [&] {
    std::vector<TensorStep> tensors;
    for (int i = 0; i < 3; ++i)
      tensors.push_back(tensorStep(rule, Shape::vector(1), {&params[i], &grads[i]}));
    EXPECT_THAT(stepGroup({}, tensors), ElementsAre(false, false, false));
  };
  step(); // (1 + tiny) + tiny
  EXPECT_THAT(params, ElementsAre(1, 1, 1));
  grads[0] = tiny;
  grads[2] = 1;
  step();
  EXPECT_THAT(params, ElementsAre(1 + 2 * tiny, 1 + 2 * tiny, 1 + 2 * tiny));
}

TEST(Extent, AnEmptyTensorIsOneOfTheGroup) {
  Interpreter rule = interpretOrDie(sumRule("group"));
  double params[3] = {}, grads[3] = {1, tiny, tiny};
  std::vector<TensorStep> tensors;
  for (int i = 0; i < 3; ++i) {
    tensors.push_back(tensorStep(rule, Shape::vector(1), {&params[i], &grads[i]}));
    if (i == 0)
      tensors.push_back(tensorStep(rule, Shape::vector(0), {nullptr, nullptr}));
  }
  stepGroup({}, tensors); // (1 + 0) + (tiny + tiny)
  EXPECT_THAT(params, ElementsAre(1 + 2 * tiny, 1 + 2 * tiny, 1 + 2 * tiny));
}

TEST(Extent, VectorsAndMatricesShareReductionsOverTheGroup) {
  Interpreter vectors = interpretOrDie(sumRule("group"));
  Interpreter matrices = interpretOrDie(R"(updraft.rule @Sum_matrix compute f64 matrix {
    %p = updraft.param stored f64 : f64
    %g = updraft.grad stored f64 : f64
    %r = updraft.reduce max %g over row : f64
    %s = updraft.reduce sum %g over group : f64
    %n = arith.addf %s, %r : f64
    updraft.next %n : f64
  })");
  double vector = 0, vectorGrad = 100;
  std::vector<double> matrix(4), matrixGrad = {1, 2, 3, 4};
  stepGroup({}, {tensorStep(vectors, Shape::vector(1), {&vector, &vectorGrad}),
                 tensorStep(matrices, {1, 2, 2}, {matrix.data(), matrixGrad.data()})});
  EXPECT_EQ(vector, 110);
  EXPECT_THAT(matrix, ElementsAre(112, 112, 114, 114));
}

// Factored second moments, as in Adafactor.
const char *const factoredRule = R"(updraft.rule @Factored compute f32 matrix {
  %zero = arith.constant 0.0 : f64
  %p = updraft.param stored f32 : f32
  %g = updraft.grad stored f32 : f32
  %row = updraft.state "row" over row stored f32 initial %zero : f32
  %column = updraft.state "column" over column stored bf16 initial %zero : f32
  %w = arith.extf %g : f32 to f64
  %q = arith.mulf %w, %w : f64
  %rs = updraft.reduce sum %q over row : f64
  %cs = updraft.reduce sum %q over column : f64
  %columns = updraft.size over row
  %rows = updraft.size over column
  %rm = arith.divf %rs, %columns : f64
  %cm = arith.divf %cs, %rows : f64
  %rf = arith.truncf %rm : f64 to f32
  %cf = arith.truncf %cm : f64 to f32
  %row1 = arith.addf %row, %rf : f32
  %column1 = arith.addf %column, %cf : f32
  %all = updraft.reduce sum %row1 over tensor : f32
  %allf = arith.truncf %all : f64 to f32
  %product = arith.mulf %row1, %column1 : f32
  %v = arith.divf %product, %allf : f32
  updraft.next %v, %row1, %column1 : f32, f32, f32
})";

TEST(Extent, RowsAndColumnsOfEachBatch) {
  Interpreter rule = interpretOrDie(factoredRule);
  EXPECT_EQ(rule.streams()[2].over, updraft::Extent::row);
  EXPECT_EQ(rule.streams()[3].over, updraft::Extent::column);
  constexpr int batches = 2, rows = 3, columns = 4, count = batches * rows * columns;
  std::vector<float> param(count), grad(count), row(batches * rows, 1);
  std::vector<uint16_t> column(batches * columns, 0x3f80);
  std::vector<double> rowSums(batches * rows), columnSums(batches * columns);
  for (int i = 0; i < count; ++i) {
    grad[i] = float(i % 7);
    rowSums[i / columns] += double(grad[i]) * grad[i];
    columnSums[i / (rows * columns) * columns + i % columns] += double(grad[i]) * grad[i];
  }
  stepGroup({}, tensorStep(rule, {batches, rows, columns},
                           {param.data(), grad.data(), row.data(), column.data()}));
  double all = 0;
  for (int r = 0; r < batches * rows; ++r) {
    EXPECT_EQ(row[r], 1 + float(rowSums[r] / columns)) << r;
    all += row[r];
  }
  for (int c = 0; c < batches * columns; ++c) {
    uint16_t expected;
    storeElement(StorageFormat::BF16, &expected, 0, 1 + float(columnSums[c] / rows));
    EXPECT_EQ(column[c], expected) << c;
  }
  for (int i = 0; i < count; ++i) {
    // The column's value before rounding to bf16.
    const int c = i / (rows * columns) * columns + i % columns;
    const float product = row[i / columns] * (1 + float(columnSums[c] / rows));
    EXPECT_EQ(param[i], product / float(all)) << i;
  }
}

// The largest row sum, and the sum of the column sums, for each batch separately.
TEST(Extent, BatchesByThemselves) {
  Interpreter rule = interpretOrDie(R"(updraft.rule @R compute f64 matrix {
    %p = updraft.param stored f64 : f64
    %g = updraft.grad stored f64 : f64
    %r = updraft.reduce sum %g over row : f64
    %c = updraft.reduce sum %g over column : f64
    %most = updraft.reduce max %r over batch : f64
    %all = updraft.reduce sum %c over batch : f64
    %d = arith.divf %most, %all : f64
    %batches = updraft.reduce sum %d over tensor : f64
    %n = arith.addf %d, %batches : f64
    updraft.next %n : f64
  })");
  std::vector<double> param(12), grad = {1, 2, 3, 4, 5, 17, 8, 8, 8, 4, 2, 2};
  stepGroup({}, tensorStep(rule, {2, 2, 3}, {param.data(), grad.data()}));
  const double first = 26.0 / 32, second = 24.0 / 32;
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(param[i], (i < 6 ? first : second) + (first + second)) << i;
}

TEST(Extent, AMatrixWithoutElementsKeepsItsStates) {
  Interpreter rule = interpretOrDie(factoredRule);
  float row[3] = {1, 2, 3};
  stepGroup({}, tensorStep(rule, {1, 3, 0}, {nullptr, nullptr, row, nullptr}));
  EXPECT_TRUE(std::isnan(row[0])); // 0 / 0 columns, as written
  uint16_t column[2] = {0x3f80, 0x4000};
  stepGroup({}, tensorStep(rule, {1, 0, 2}, {nullptr, nullptr, nullptr, column}));
  EXPECT_TRUE(std::isnan(loadElement(StorageFormat::BF16, column, 1)));
}

TEST(Extent, AMatrixIsReducedByBlocksOfRows) {
  const std::string body = R"({
    %p = updraft.param stored f64 : f64
    %g = updraft.grad stored f64 : f64
    %s = updraft.reduce sum %g over tensor : f64
    updraft.next %s : f64
  })";
  Interpreter flat = interpretOrDie("updraft.rule @R compute f64 " + body);
  Interpreter matrix = interpretOrDie("updraft.rule @R compute f64 matrix " + body);
  // Rows of 3. In a block, row 1 uses the same lanes as row 0; in flat order, the next ones.
  std::vector<double> param(6), grad = {1, 0, 0, tiny, tiny, 0};
  stepGroup({}, tensorStep(flat, {1, 2, 3}, {param.data(), grad.data()}));
  EXPECT_EQ(param[0], 1);
  grad = {1, tiny, 0, 0, tiny, 0};
  stepGroup({}, tensorStep(flat, {1, 2, 3}, {param.data(), grad.data()}));
  EXPECT_EQ(param[0], 1);
  stepGroup({}, tensorStep(matrix, {1, 2, 3}, {param.data(), grad.data()}));
  EXPECT_EQ(param[0], 1 + 2 * tiny);
}

TEST(Extent, ScalarStatesAreComputedInDoubleAndStoredRounded) {
  Interpreter rule = interpretOrDie(R"(updraft.rule @R compute f32 {
    %one = arith.constant 1.0 : f64
    %third = arith.constant 0.1 : f64
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %own = updraft.state "own" over tensor stored f32 initial %one : f64
    %shared = updraft.state "shared" over group stored f64 initial %one : f64
    %own1 = arith.mulf %own, %third : f64
    %sum = updraft.reduce sum %g over group : f32
    %shared1 = arith.addf %shared, %sum : f64
    %both = arith.addf %own1, %shared1 : f64
    %n = arith.truncf %both : f64 to f32
    updraft.next %n, %own1, %shared1 : f32, f64, f64
  })");
  EXPECT_THAT(rule.initialStates({}), ElementsAre(1, 1));
  float params[2] = {}, grads[2] = {2, 3}, own[2] = {1, 10};
  double shared = 0.25;
  stepGroup({}, {tensorStep(rule, Shape::vector(1), {&params[0], &grads[0], &own[0], &shared}),
                 tensorStep(rule, Shape::vector(1), {&params[1], &grads[1], &own[1], &shared})});
  EXPECT_EQ(shared, 5.25); // of both tensors, counted once
  EXPECT_THAT(own, ElementsAre(float(0.1), float(10 * 0.1)));
  EXPECT_THAT(params, ElementsAre(float(0.1 + 5.25), float(1 + 5.25)));
}

TEST(Extent, ASkippedTensorKeepsEverything) {
  Interpreter rule = interpretOrDie(R"(updraft.rule @R compute f32 {
    %one = arith.constant 1.0 : f64
    %p = updraft.param stored f32 : f32
    %g = updraft.grad stored f32 : f32
    %m = updraft.state "m" over tensor stored f64 initial %one : f64
    %largest = updraft.reduce max %g over tensor : f32
    %sum = updraft.reduce sum %g over group : f32
    %bad = arith.cmpf ogt, %largest, %one : f64
    %n = arith.truncf %sum : f64 to f32
    updraft.next %n, %sum skip(%bad) : f32, f64
  })");
  float params[2] = {7, 8}, grads[2] = {0.5, 3};
  double m[2] = {1, 2};
  EXPECT_THAT(stepGroup({}, {tensorStep(rule, Shape::vector(1), {&params[0], &grads[0], &m[0]}),
                             tensorStep(rule, Shape::vector(1), {&params[1], &grads[1], &m[1]})}),
              ElementsAre(false, true));
  EXPECT_THAT(params, ElementsAre(3.5, 8)); // the sum includes the skipped one
  EXPECT_THAT(m, ElementsAre(3.5, 2));
}

TEST(Extent, TheFirstTensorNotSkippedSetsAStateOfTheGroup) {
  Interpreter rule = interpretOrDie(R"(updraft.rule @R compute f64 {
    %one = arith.constant 1.0 : f64
    %step = updraft.step
    %p = updraft.param stored f64 : f64
    %g = updraft.grad stored f64 : f64
    %s = updraft.state "s" over group stored f64 initial %one : f64
    %largest = updraft.reduce max %g over tensor : f64
    %bad = arith.cmpf ogt, %largest, %one : f64
    updraft.next %s, %step skip(%bad) : f64, f64
  })");
  double params[3] = {}, grads[3] = {2, 0, 0}, shared = 7;
  std::vector<TensorStep> tensors;
  for (int i = 0; i < 3; ++i) {
    tensors.push_back(tensorStep(rule, Shape::vector(1), {&params[i], &grads[i], &shared}));
    tensors.back().step = 10 * (i + 1);
  }
  EXPECT_THAT(stepGroup({}, tensors), ElementsAre(true, false, false));
  EXPECT_EQ(shared, 20);
  EXPECT_THAT(params, ElementsAre(0, 7, 7)); // all read the old value
}

TEST(Extent, SizesCountTheParticipants) {
  Interpreter rule = interpretOrDie(R"(updraft.rule @R compute f64 {
    %g = updraft.grad stored f64 : f64
    %p = updraft.param stored f64 : f64
    %group = updraft.size over group
    %tensor = updraft.size over tensor
    %row = updraft.size over row
    %column = updraft.size over column
    %base = arith.constant 100.0 : f64
    %a = arith.mulf %group, %base : f64
    %b = arith.addf %a, %tensor : f64
    %c = arith.mulf %b, %base : f64
    %d = arith.addf %c, %row : f64
    %e = arith.mulf %d, %base : f64
    %f = arith.addf %e, %column : f64
    updraft.next %f : f64
  })");
  std::vector<double> first(3), second(12), grad(12);
  stepGroup({}, {tensorStep(rule, Shape::vector(3), {first.data(), grad.data()}),
                 tensorStep(rule, {2, 2, 3}, {second.data(), grad.data()})});
  EXPECT_EQ(first[0], 15030301); // a vector is one row
  EXPECT_EQ(second[0], 15120302);
}

TEST(Extent, RandomBitsAreTheElements) {
  Interpreter rule = interpretOrDie(R"(updraft.rule @R compute f64 {
    %g = updraft.grad stored f64 : f64
    %p = updraft.param stored f64 : f64
    %bits = updraft.random 3
    %shift = arith.constant 11 : i64
    %high = arith.shrui %bits, %shift : i64
    %r = arith.uitofp %high : i64 to f64
    %s = updraft.reduce sum %r over tensor : f64
    %n = arith.subf %r, %s : f64
    updraft.next %n : f64
  })");
  std::vector<double> param(3), grad(3);
  TensorStep tensor = tensorStep(rule, Shape::vector(3), {param.data(), grad.data()});
  tensor.step = 5;
  tensor.number = 9;
  stepGroup({{}, 77}, tensor);
  double values[3];
  for (int i = 0; i < 3; ++i)
    values[i] = double(randomBits(77, 5, 9, 3, i) >> 11);
  // Lane 0 adds lane 2 before lane 1.
  const double sum = (values[0] + values[2]) + values[1];
  EXPECT_THAT(param, ElementsAre(values[0] - sum, values[1] - sum, values[2] - sum));
}

TEST(Extent, DoublePrecisionRoundsNothing) {
  Interpreter rule = interpretOrDie(factoredRule, Precision::Double);
  std::vector<double> param(2), grad = {0.1, 0.3}, row = {0}, column = {0, 0};
  stepGroup({},
            tensorStep(rule, {1, 1, 2}, {param.data(), grad.data(), row.data(), column.data()}));
  EXPECT_EQ(row[0], (0.1 * 0.1 + 0.3 * 0.3) / 2);
  EXPECT_EQ(column[1], 0.3 * 0.3);
  EXPECT_EQ(param[1], row[0] * column[1] / row[0]);
}

} // namespace
