//===- FlatReductionTest.cpp - Reductions of a flat sequence, bit for bit ---------------------===//
// A sweep that reduces and writes, for sizes around those of vectors, lanes and leaves, and for
// every vector width.

#include "JitPlan.h"
#include "Partials.h"
#include "StorageFormat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace updraft;
using namespace updraft::test;

namespace {

// The sum of squares, the largest value, and how many are negative; the parameter is negated.
std::string reducingPlan(const StorageFormat &compute, const StorageFormat &stored) {
  return substitute(
      R"(updraft.plan @R compute COMPUTE {
  %p = updraft.stream "param" : !updraft.stream<STORED>
  %g = updraft.stream "grad" : !updraft.stream<STORED>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %r:3 = updraft.sweep reads(%p, %g : !updraft.stream<STORED>, !updraft.stream<STORED>)
      writes(%p : !updraft.stream<STORED>)
      reduces [#updraft.reduction<sum over tensor>, #updraft.reduction<max over group>,
               #updraft.reduction<sum over group>] -> f64, f64, f64 {
  ^bb0(%x: COMPUTE, %y: COMPUTE):
    %0 = arith.negf %x : COMPUTE
    %w = WIDEN
    %square = arith.mulf %w, %w : f64
    %zero = arith.constant 0.0 : COMPUTE
    %one = arith.constant 1 : i64
    %none = arith.constant 0 : i64
    %negative = arith.cmpf olt, %y, %zero : COMPUTE
    %1 = arith.select %negative, %one, %none : i64
    %count = arith.sitofp %1 : i64 to f64
    updraft.store %0 : COMPUTE reduce(%square, %w, %count)
  }
})",
      {{"WIDEN", compute.bits == 64 ? "arith.addf %y, %y : f64" : "arith.extf %y : f32 to f64"},
       {"COMPUTE", compute.name},
       {"STORED", stored.name}});
}

/// The values of a gradient's element that `reducingPlan` reduces.
struct Reduced {
  double square, value, negative;
};
Reduced reducedOf(const StorageFormat &compute, double grad) {
  double wide = compute.bits == 64 ? grad + grad : double(float(grad));
  return {wide * wide, wide, grad < 0 ? 1.0 : 0.0};
}

/// Elements of very different magnitudes, so that each order of summation has a different result.
std::vector<uint64_t> randomElements(const StorageFormat &format, size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> exponent(-12, 4);
  std::vector<uint64_t> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(format.encode(std::exp2(exponent(engine)) * (engine() % 2 ? 1 : -1)));
  return result;
}

struct FlatTensor {
  std::vector<uint64_t> params, grads;
  std::vector<std::byte> param, grad;

  FlatTensor(const StorageFormat &format, size_t count, unsigned seed)
      : params(randomElements(format, count, seed)),
        grads(randomElements(format, count, seed + 1000)) {
    pack(format);
  }
  void pack(const StorageFormat &format) {
    param = test::pack(format, params);
    grad = test::pack(format, grads);
  }
};

/// Partial results of elements [begin, end), three for each leaf.
std::vector<double> expectedPartials(const StorageFormat &compute, const StorageFormat &stored,
                                     const FlatTensor &tensor, size_t begin, size_t end) {
  std::vector<double> squares, values, negatives;
  for (size_t i = begin; i < end; ++i) {
    Reduced reduced = reducedOf(compute, stored.decode(tensor.grads[i]));
    squares.push_back(reduced.square);
    values.push_back(reduced.value);
    negatives.push_back(reduced.negative);
  }
  std::vector<double> square = leafPartials(ReductionKind::sum, squares),
                      largest = leafPartials(ReductionKind::max, values),
                      negative = leafPartials(ReductionKind::sum, negatives), result;
  for (size_t i = 0; i < square.size(); ++i)
    result.insert(result.end(), {square[i], largest[i], negative[i]});
  return result;
}

void expectPartials(const StorageFormat &compute, const StorageFormat &stored,
                    const CPUTarget &target) {
  SCOPED_TRACE(std::string(compute.name) + " " + stored.name + " " + target.key());
  JitPlan plan(reducingPlan(compute, stored), target);
  ASSERT_EQ(plan.sweeps.size(), 1u);
  const float row[] = {0};
  for (size_t count : {0, 1, 3, 4, 15, 16, 17, 33, 127, 128, 129, 1000, 8191, 8192, 8193, 20001}) {
    FlatTensor tensor(stored, count, unsigned(count));
    size_t begin = count > 2 * UPD_LEAF_ELEMENTS ? UPD_LEAF_ELEMENTS : 0;
    std::vector<double> expected = expectedPartials(compute, stored, tensor, begin, count);
    std::vector<double> partials(expected.size() + 1, -7.0);
    void *streams[] = {tensor.param.data(), tensor.grad.data()};
    const upd_range range{int64_t(begin), int64_t(count)};
    plan.sweep(row, streams, &range, 1, partials.data(), nullptr);
    ASSERT_EQ(partials.back(), -7.0);
    partials.pop_back();
    ASSERT_EQ(bitsOf(partials), bitsOf(expected)) << count << " elements";
    for (size_t i = 0; i < count; ++i) {
      double before = stored.decode(tensor.params[i]);
      ASSERT_EQ(stored.decode(readElement(stored, tensor.param.data(), i)),
                i < begin            ? before
                : compute.bits == 64 ? -before
                                     : -double(float(before)));
    }
  }
}

} // namespace

TEST(FlatReductionTest, PartialsMatchTheReductionTree) {
  for (const CPUTarget &target : allLoopShapes())
    for (const StorageFormat *stored : allFormats()) {
      expectPartials(f32, *stored, target);
      expectPartials(f64, *stored, target);
    }
}

TEST(FlatReductionTest, PartialsOfSeveralTensorsFollowEachOther) {
  for (const CPUTarget &target : allLoopShapes()) {
    JitPlan plan(reducingPlan(f32, f32), target);
    ASSERT_TRUE(plan.sweep);
    std::vector<FlatTensor> tensors;
    std::vector<double> expected;
    std::vector<void *> streams;
    std::vector<upd_range> ranges;
    for (size_t count : {5, 0, 9000, 8192, 130}) {
      tensors.emplace_back(f32, count, unsigned(count));
      ranges.push_back({0, int64_t(count)});
    }
    for (FlatTensor &tensor : tensors) {
      streams.insert(streams.end(), {tensor.param.data(), tensor.grad.data()});
      std::vector<double> partials = expectedPartials(f32, f32, tensor, 0, tensor.grads.size());
      expected.insert(expected.end(), partials.begin(), partials.end());
    }
    std::vector<double> partials(expected.size(), -7.0);
    const float row[] = {0};
    plan.sweep(row, streams.data(), ranges.data(), int64_t(ranges.size()), partials.data(),
               nullptr);
    EXPECT_EQ(bitsOf(partials), bitsOf(expected)) << target.key();
  }
}

TEST(FlatReductionTest, NaNsInfinitiesAndZeros) {
  for (const CPUTarget &target : allLoopShapes()) {
    JitPlan plan(reducingPlan(f32, f32), target);
    ASSERT_TRUE(plan.sweep);
    for (const std::vector<double> &values :
         std::vector<std::vector<double>>{{-0.0, -0.0, -0.0},
                                          {-0.0, 0.0, -1.0},
                                          {-INFINITY, -INFINITY},
                                          {1.0, INFINITY, -INFINITY, 2.0},
                                          {1.0, NAN, 2.0},
                                          {NAN, INFINITY}})
      for (size_t padding : {0, 14, 126, 200}) {
        FlatTensor tensor(f32, padding + values.size(), 1);
        for (size_t i = 0; i < padding; ++i)
          tensor.grads[i] = f32.encode(-INFINITY);
        for (size_t i = 0; i < values.size(); ++i)
          tensor.grads[padding + i] = f32.encode(values[i]);
        tensor.pack(f32);
        std::vector<double> expected = expectedPartials(f32, f32, tensor, 0, tensor.grads.size());
        std::vector<double> partials(expected.size(), -7.0);
        const float row[] = {0};
        void *streams[] = {tensor.param.data(), tensor.grad.data()};
        const upd_range range{0, int64_t(tensor.grads.size())};
        plan.sweep(row, streams, &range, 1, partials.data(), nullptr);
        ASSERT_EQ(bitsOf(partials), bitsOf(expected))
            << target.key() << ", first value " << values[0] << " after " << padding;
      }
  }
}
