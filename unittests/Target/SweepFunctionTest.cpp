//===- SweepFunctionTest.cpp - The loop of a sweep: sizes, alignment, bounds ------------------===//
// Momentum with every storage type of the state, for sizes around the vector's, starts that are
// aligned to one element only, and leaves in the middle of a tensor.

#include "JitPlan.h"
#include "StorageFormat.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace updraft;
using namespace updraft::test;

namespace {

/// Momentum with a flag among its scalars; parameter and gradient have the same storage type.
std::string momentumPlan(const StorageFormat &compute, const StorageFormat &stored,
                         const StorageFormat &state) {
  std::string text = R"(updraft.plan @R compute COMPUTE {
  %lr = updraft.hyper "lr" = 1.0e-1
  %first = updraft.first
  %p = updraft.stream "param" : !updraft.stream<STORED>
  %g = updraft.stream "grad" : !updraft.stream<STORED>
  %m = updraft.stream "momentum" : !updraft.stream<STATE>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %k:2 = updraft.prologue(%first) : (i1) -> (COMPUTE, i1) {
  ^bb0(%f: i1):
    %scale = arith.constant 0.25 : COMPUTE
    updraft.yield %scale, %f : COMPUTE, i1
  }
  updraft.sweep scalars(%k#0, %k#1 : COMPUTE, i1)
      reads(%p, %g, %m : !updraft.stream<STORED>, !updraft.stream<STORED>, !updraft.stream<STATE>)
      writes(%p, %m : !updraft.stream<STORED>, !updraft.stream<STATE>) {
  ^bb0(%s: COMPUTE, %f: i1, %pe: COMPUTE, %ge: COMPUTE, %me: COMPUTE):
    %half = arith.constant 0.5 : COMPUTE
    %0 = arith.mulf %me, %half : COMPUTE
    %1 = arith.addf %0, %ge : COMPUTE
    %2 = arith.select %f, %ge, %1 : COMPUTE
    %3 = arith.mulf %s, %2 : COMPUTE
    %4 = arith.subf %pe, %3 : COMPUTE
    updraft.store %4, %2 : COMPUTE, COMPUTE
  }
})";
  return substitute(text,
                    {{"COMPUTE", compute.name}, {"STORED", stored.name}, {"STATE", state.name}});
}

/// A tensor between guard bytes, `offset` elements after an aligned address.
struct GuardedTensor {
  const StorageFormat &format;
  size_t offset, count;
  std::vector<std::byte> memory;

  GuardedTensor(const StorageFormat &format, size_t offset, size_t count, int seed)
      : format(format), offset(offset), count(count),
        memory(64 + (offset + count) * format.bytes() + 64, std::byte(0xa5)) {
    for (size_t i = 0; i < count; ++i)
      writeElement(format, data(), i,
                   format.encode((double((i * 37 + seed * 11) % 101) - 50) / 64));
  }
  std::byte *data() { return memory.data() + 64 + offset * format.bytes(); }
  uint64_t at(size_t index) { return readElement(format, data(), index); }
};

template <typename T>
void expectMomentum(const StorageFormat &compute, const StorageFormat &stored,
                    const StorageFormat &state) {
  SCOPED_TRACE(std::string(compute.name) + " " + stored.name + " " + state.name);
  std::string text = momentumPlan(compute, stored, state);
  for (const CPUTarget &target : runnableTargets()) {
    JitPlan plan(text, target);
    if (!plan.sweep)
      return;
    for (size_t count : {0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 1003})
      for (size_t offset : {0, 1, 3})
        for (bool first : {false, true}) {
          // More memory than [begin, end): the rest must not change.
          size_t begin = count == 1003 ? 2 * UPD_LEAF_ELEMENTS : 0;
          size_t whole = begin + count + 5;
          GuardedTensor param(stored, offset, whole, 1), grad(stored, offset, whole, 2),
              momentum(state, offset, whole, 3);
          std::vector<std::byte> gradBefore = grad.memory;
          GuardedTensor expectedParam = param, expectedMomentum = momentum;
          T scale = T(0.25);
          for (size_t i = begin; i < begin + count; ++i) {
            T p = T(stored.decode(param.at(i))), g = T(stored.decode(grad.at(i))),
              m = T(state.decode(momentum.at(i)));
            T next = first ? g : m * T(0.5) + g;
            T product = scale * next;
            writeElement(stored, expectedParam.data(), i, stored.encode(double(p - product)));
            writeElement(state, expectedMomentum.data(), i, state.encode(double(next)));
          }
          T row[] = {T(0), scale, T(first ? 1 : 0)};
          void *streams[] = {param.data(), grad.data(), momentum.data()};
          const upd_range range{int64_t(begin), int64_t(begin + count)};
          plan.sweep(row, streams, &range, 1, nullptr, nullptr);
          ASSERT_EQ(param.memory, expectedParam.memory)
              << count << " elements, offset " << offset << ", " << target.vectorBits << " bits";
          ASSERT_EQ(momentum.memory, expectedMomentum.memory)
              << count << " elements, offset " << offset << ", " << target.vectorBits << " bits";
          ASSERT_EQ(grad.memory, gradBefore);
        }
  }
}

} // namespace

TEST(SweepFunctionTest, MomentumInF32) {
  for (const StorageFormat *stored : allFormats())
    for (const StorageFormat *state : allFormats())
      expectMomentum<float>(f32, *stored, *state);
}

TEST(SweepFunctionTest, MomentumInF64) {
  for (const StorageFormat *stored : allFormats())
    for (const StorageFormat *state : allFormats())
      expectMomentum<double>(f64, *stored, *state);
}

TEST(SweepFunctionTest, StreamsMayBeTheSameTensor) {
  std::string text = momentumPlan(f32, f32, f32);
  for (const CPUTarget &target : runnableTargets()) {
    JitPlan plan(text, target);
    ASSERT_TRUE(plan.sweep);
    std::vector<float> values(33), state(33, 0.0f);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i);
    float row[] = {0, 0.5f, 1};
    void *streams[] = {values.data(), values.data(), state.data()};
    const upd_range range{0, 33};
    plan.sweep(row, streams, &range, 1, nullptr, nullptr);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], float(i) - 0.5f * float(i));
      EXPECT_EQ(state[i], float(i));
    }
  }
}

TEST(SweepFunctionTest, RefusesOperationsThatCPUsCannotVectorize) {
  for (const char *operation : {"math.sin %x", "arith.remf %x, %x"}) {
    std::string message = loweringError(substitute(R"(updraft.plan @R compute f32 {
  %p = updraft.stream "param" : !updraft.stream<f32>
  %g = updraft.stream "grad" : !updraft.stream<f32>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<f32>) writes(%p : !updraft.stream<f32>) {
  ^bb0(%x: f32):
    %y = OPERATION : f32
    updraft.store %y : f32
  }
})",
                                                   {{"OPERATION", operation}}));
    std::string name = std::string(operation).substr(0, std::string(operation).find(' '));
    EXPECT_EQ(message, "'" + name +
                           "' op has no vector instructions, and a sweep calls no library; expand "
                           "it with `updraft-expand-math`\n");
  }
}

TEST(SweepFunctionTest, RunsOverOneRangeOfEachTensor) {
  std::string text = momentumPlan(f32, f32, f32);
  for (const CPUTarget &target : runnableTargets()) {
    JitPlan plan(text, target);
    ASSERT_TRUE(plan.sweep);
    const std::vector<int64_t> sizes = {17, 0, 3, 64};
    std::vector<std::vector<float>> tensors;
    std::vector<void *> streams;
    std::vector<upd_range> ranges;
    for (int64_t size : sizes) {
      for (float value : {2.0f, 4.0f, 8.0f})
        tensors.emplace_back(size, value);
      ranges.push_back({0, size});
    }
    ranges[2].end = 2;
    for (std::vector<float> &tensor : tensors)
      streams.push_back(tensor.data());
    const float row[] = {0, 0.5f, 0};
    plan.sweep(row, streams.data(), ranges.data(), int64_t(ranges.size()), nullptr, nullptr);
    for (size_t i = 0; i < ranges.size(); ++i)
      for (int64_t j = 0; j < sizes[i]; ++j) {
        const bool inside = j < ranges[i].end;
        EXPECT_EQ(tensors[3 * i][j], inside ? 2.0f - 0.5f * (8 * 0.5f + 4) : 2.0f);
        EXPECT_EQ(tensors[3 * i + 1][j], 4.0f);
        EXPECT_EQ(tensors[3 * i + 2][j], inside ? 8 * 0.5f + 4 : 8.0f);
      }
  }
}
