//===- MatrixSweepTest.cpp - Sweeps by rows, bit for bit --------------------------------------===//
// Reductions over rows and columns, values computed from them, and a sweep that uses these for
// elements, for shapes around those of vectors, lanes and blocks.

#include "JitPlan.h"
#include "Partials.h"
#include "StorageFormat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace updraft;
using namespace updraft::test;

namespace {

// Streams: param, grad, a row state, a column state; then the temporaries: the sums and maxima of
// rows and of columns, and the results of the second sweep.
const char *const text = R"(updraft.plan @R compute f32 matrix {
  %p = updraft.stream "param" : !updraft.stream<STORED>
  %g = updraft.stream "grad" : !updraft.stream<STORED>
  %rs = updraft.stream "row_state" : !updraft.stream<bf16, row>
  %cs = updraft.stream "column_state" : !updraft.stream<f32, column>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero, %zero : f64, f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %k = updraft.prologue() : () -> f32 {
    %half = arith.constant 0.5 : f32
    updraft.yield %half : f32
  }
  %r:6 = updraft.sweep scalars(%k : f32) reads(%g : !updraft.stream<STORED>)
      reduces [#updraft.reduction<sum over row>, #updraft.reduction<sum over tensor>,
               #updraft.reduction<max over row>, #updraft.reduction<sum over column>,
               #updraft.reduction<max over column>, #updraft.reduction<max over group>]
      -> !updraft.stream<f64, row>, f64, !updraft.stream<f64, row>, !updraft.stream<f64, column>,
         !updraft.stream<f64, column>, f64 {
  ^bb0(%h: f32, %x: f32):
    %0 = arith.mulf %x, %h : f32
    %w = arith.extf %0 : f32 to f64
    %s = arith.mulf %w, %w : f64
    updraft.store reduce(%s, %s, %w, %s, %w, %w)
  }
  %t:2 = updraft.sweep over row reads(%r#0, %rs : !updraft.stream<f64, row>, !updraft.stream<bf16, row>)
      writes(%rs : !updraft.stream<bf16, row>)
      reduces [#updraft.reduction<sum over tensor>] -> f64, !updraft.stream<f32, row> {
  ^bb0(%sum: f64, %state: f32):
    %0 = arith.truncf %sum : f64 to f32
    %1 = arith.addf %0, %state : f32
    %2 = arith.extf %1 : f32 to f64
    updraft.store %1 : f32 reduce(%2) make(%1 : f32)
  }
  %n = updraft.sweep scalars(%k : f32)
      reads(%p, %t#1, %r#3, %cs, %rs : !updraft.stream<STORED>, !updraft.stream<f32, row>,
            !updraft.stream<f64, column>, !updraft.stream<f32, column>, !updraft.stream<bf16, row>)
      writes(%p : !updraft.stream<STORED>) reduces [#updraft.reduction<sum over tensor>] -> f64 {
  ^bb0(%h: f32, %x: f32, %row: f32, %column: f64, %factor: f32, %state: f32):
    %0 = arith.truncf %column : f64 to f32
    %1 = arith.mulf %row, %factor : f32
    %2 = arith.addf %1, %0 : f32
    %3 = arith.mulf %2, %h : f32
    %4 = arith.subf %x, %3 : f32
    %5 = arith.addf %4, %state : f32
    %6 = arith.extf %5 : f32 to f64
    updraft.store %5 : f32 reduce(%6)
  }
})";

/// A tensor and all streams of its plan, with a guard value after each.
struct Matrix {
  MatrixShape shape;
  const StorageFormat &stored;
  std::vector<std::byte> param, grad;
  std::vector<uint16_t> rowState;
  std::vector<float> columnState, made;
  std::vector<double> rowSum, rowMax, columnSum, columnMax;
  std::vector<double> grads; ///< halved, as in the reductions

  Matrix(const StorageFormat &stored, MatrixShape shape) : shape(shape), stored(stored) {
    std::mt19937 engine(static_cast<unsigned>(shape.elements()));
    std::uniform_real_distribution<double> exponent(-12, 4);
    auto random = [&] { return std::exp2(exponent(engine)) * (engine() % 2 ? 1 : -1); };
    std::vector<uint64_t> params, gradients;
    for (int64_t i = 0; i < shape.elements(); ++i) {
      params.push_back(stored.encode(random()));
      gradients.push_back(stored.encode(random()));
      grads.push_back(float(stored.decode(gradients.back())) * 0.5f);
    }
    param = pack(stored, params);
    grad = pack(stored, gradients);
    int64_t rows = shape.batches * shape.rows, columns = shape.batches * shape.columns;
    for (int64_t r = 0; r <= rows; ++r)
      rowState.push_back(uint16_t(bf16.encode(random())));
    for (int64_t c = 0; c <= columns; ++c)
      columnState.push_back(float(random()));
    made.assign(rows + 1, -7.0f);
    for (std::vector<double> *values : {&rowSum, &rowMax})
      values->assign(rows + 1, -7.0);
    for (std::vector<double> *values : {&columnSum, &columnMax})
      values->assign(shape.blocks() * shape.columns + 1, -7.0);
  }

  std::vector<void *> streams() {
    return {param.data(),  grad.data(),      rowState.data(),  columnState.data(), rowSum.data(),
            rowMax.data(), columnSum.data(), columnMax.data(), made.data()};
  }
  upd_site site() const { return {0, 0, 0, shape.rows, shape.columns}; }
  double paramAt(int64_t index) const {
    return stored.decode(readElement(stored, param.data(), index));
  }
};

std::vector<double> withGuard(std::vector<double> values) {
  values.push_back(-7.0);
  return values;
}

/// Alternates between two reductions.
std::vector<double> interleaved(const std::vector<double> &first,
                                const std::vector<double> &second) {
  std::vector<double> result;
  for (size_t i = 0; i < first.size(); ++i)
    result.insert(result.end(), {first[i], second[i]});
  return withGuard(result);
}

class MatrixSweeps {
public:
  MatrixSweeps(const JitPlan &plan, Matrix &matrix) : plan(plan), matrix(matrix) {}

  void expectReductions() {
    std::vector<double> squares;
    for (double value : matrix.grads)
      squares.push_back(value * value);
    MatrixShape shape = matrix.shape;
    std::vector<double> partials(2 * shape.blocks() + 1, -7.0);
    // In two calls, as with two threads.
    int64_t middle = shape.blocks() / 3;
    run(0, {0, middle}, partials.data());
    run(0, {middle, shape.blocks()}, partials.data() + 2 * middle);
    EXPECT_EQ(bitsOf(partials),
              bitsOf(interleaved(blockPartials(ReductionKind::sum, squares, shape),
                                 blockPartials(ReductionKind::max, matrix.grads, shape))));
    EXPECT_EQ(bitsOf(matrix.rowSum),
              bitsOf(withGuard(rowTotals(ReductionKind::sum, squares, shape))));
    EXPECT_EQ(bitsOf(matrix.rowMax),
              bitsOf(withGuard(rowTotals(ReductionKind::max, matrix.grads, shape))));
    EXPECT_EQ(bitsOf(matrix.columnSum),
              bitsOf(withGuard(columnPartials(ReductionKind::sum, squares, shape))));
    EXPECT_EQ(bitsOf(matrix.columnMax),
              bitsOf(withGuard(columnPartials(ReductionKind::max, matrix.grads, shape))));
  }

  void expectRowSweep() {
    size_t rows = matrix.made.size() - 1;
    std::vector<uint16_t> expectedState = matrix.rowState;
    std::vector<float> expectedMade(rows + 1, -7.0f);
    std::vector<double> values;
    for (size_t r = 0; r < rows; ++r) {
      expectedMade[r] = float(matrix.rowSum[r]) + float(bf16.decode(matrix.rowState[r]));
      expectedState[r] = uint16_t(bf16.encode(expectedMade[r]));
      values.push_back(expectedMade[r]);
    }
    std::vector<double> expected = withGuard(leafPartials(ReductionKind::sum, values));
    std::vector<double> partials(expected.size(), -7.0);
    run(1, {0, int64_t(rows)}, partials.data());
    EXPECT_EQ(bitsOf(partials), bitsOf(expected));
    EXPECT_EQ(matrix.made, expectedMade);
    EXPECT_EQ(matrix.rowState, expectedState);
  }

  void expectElementSweep() {
    MatrixShape shape = matrix.shape;
    std::vector<double> expected;
    for (int64_t i = 0; i < shape.elements(); ++i) {
      int64_t row = i / shape.columns, column = i % shape.columns;
      column += row / shape.rows * shape.columns;
      float scaled = matrix.made[row] * matrix.columnState[column];
      float shift = scaled + float(matrix.columnSum[column]);
      float half = shift * 0.5f;
      float difference = float(matrix.paramAt(i)) - half;
      expected.push_back(difference + float(bf16.decode(matrix.rowState[row])));
    }
    std::vector<double> partials(shape.blocks() + 1, -7.0);
    run(2, {0, shape.blocks()}, partials.data());
    EXPECT_EQ(bitsOf(partials),
              bitsOf(withGuard(blockPartials(ReductionKind::sum, expected, shape))));
    for (int64_t i = 0; i < shape.elements(); ++i)
      ASSERT_EQ(matrix.paramAt(i), matrix.stored.decode(matrix.stored.encode(expected[i]))) << i;
  }

private:
  void run(size_t sweep, upd_range range, double *partials) {
    const float row[] = {0, 0.5f};
    std::vector<void *> streams = matrix.streams();
    const upd_site site = matrix.site();
    plan.sweeps[sweep](row, streams.data(), &range, 1, partials, &site);
  }

  const JitPlan &plan;
  Matrix &matrix;
};

const MatrixShape shapes[] = {{1, 1, 1},    {1, 1, 300}, {2, 3, 5},    {1, 64, 16}, {3, 65, 17},
                              {2, 130, 33}, {2, 200, 1}, {1, 63, 127}, {1, 7, 128}, {1, 9, 1025},
                              {5, 0, 3},    {2, 65, 0},  {0, 4, 4},    {2, 64, 129}};

} // namespace

TEST(MatrixSweepTest, EveryShapeGivesTheBitsOfTheTree) {
  for (const CPUTarget &target : allLoopShapes())
    for (const StorageFormat *stored : {&f32, &bf16, &f64}) {
      JitPlan plan(substitute(text, {{"STORED", stored->name}}), target);
      ASSERT_EQ(plan.sweeps.size(), 3u);
      for (MatrixShape shape : shapes) {
        SCOPED_TRACE(testing::Message()
                     << shape.batches << " x " << shape.rows << " x " << shape.columns << " "
                     << stored->name << ", " << target.vectorBits << " bits"
                     << (target.maskRemainder ? ", masked" : ""));
        Matrix matrix(*stored, shape);
        MatrixSweeps sweeps(plan, matrix);
        sweeps.expectReductions();
        sweeps.expectRowSweep();
        sweeps.expectElementSweep();
      }
    }
}

TEST(MatrixSweepTest, HasTheHostFunctionsOfItsRule) {
  JitPlan plan(substitute(text, {{"STORED", "f32"}}), CPUTarget::host());
  EXPECT_TRUE(plan.initial);
  EXPECT_TRUE(plan.validate);
  EXPECT_EQ(plan.prologues.size(), 1u);
}
