//===- StorageTest.cpp - Conversion between storage and compute types, bit for bit ------------===//
// Sweeps that copy the gradient to the parameter: each value is widened from its storage type to
// the compute type, and rounded to the other storage type.

#include "JitPlan.h"
#include "StorageFormat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

using namespace updraft;
using namespace updraft::test;

namespace {

std::string copyPlan(const StorageFormat &from, const StorageFormat &compute,
                     const StorageFormat &to) {
  std::string text = R"(updraft.plan @R compute COMPUTE {
  %p = updraft.stream "param" : !updraft.stream<TO>
  %g = updraft.stream "grad" : !updraft.stream<FROM>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%g : !updraft.stream<FROM>) writes(%p : !updraft.stream<TO>) {
  ^bb0(%x: COMPUTE):
    updraft.store %x : COMPUTE
  }
})";
  return substitute(text, {{"COMPUTE", compute.name}, {"FROM", from.name}, {"TO", to.name}});
}

/// Runs a copy of `inputs` with every loop shape, and compares every element.
void expectCopies(const StorageFormat &from, const StorageFormat &compute, const StorageFormat &to,
                  const std::vector<uint64_t> &inputs) {
  SCOPED_TRACE(std::string(from.name) + " computed in " + compute.name + " to " + to.name);
  std::string text = copyPlan(from, compute, to);
  for (const CPUTarget &target : runnableTargets()) {
    JitPlan plan(text, target);
    if (!plan.sweep)
      return;
    std::vector<std::byte> grad = pack(from, inputs);
    std::vector<std::byte> param(inputs.size() * to.bytes(), std::byte(0x5a));
    void *streams[] = {param.data(), grad.data()};
    const upd_range range{0, static_cast<int64_t>(inputs.size())};
    plan.sweep(nullptr, streams, &range, 1, nullptr, nullptr);
    int failures = 0;
    for (size_t i = 0; i < inputs.size() && failures < 5; ++i) {
      double widened = from.decode(inputs[i]);
      uint64_t expected = to.encode(compute.decode(compute.encode(widened)));
      uint64_t actual = readElement(to, param.data(), i);
      bool same = to.isNaN(expected) ? to.isNaN(actual) : actual == expected;
      if (!same && ++failures)
        ADD_FAILURE() << std::hex << "0x" << inputs[i] << " became 0x" << actual << ", must be 0x"
                      << expected << std::dec << " (vectors of " << target.vectorBits << " bits)";
    }
  }
}

/// Every encoding of a 16-bit format.
std::vector<uint64_t> allEncodings() {
  std::vector<uint64_t> result(65536);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = i;
  return result;
}

/// Encodings of `from` at and around every midpoint of adjacent values in the 16-bit format `to`,
/// and around its values, of both signs; and random ones.
std::vector<uint64_t> aroundMidpoints(const StorageFormat &from, const StorageFormat &to) {
  std::vector<uint64_t> result = edgeEncodings(from);
  auto addAround = [&](double value) {
    uint64_t encoding = from.encode(value);
    for (uint64_t near : {encoding, encoding + 1, encoding == 0 ? 0 : encoding - 1}) {
      result.push_back(near);
      result.push_back(near | from.signBit());
    }
  };
  for (uint64_t encoding = 0; encoding < to.finiteCount(); ++encoding) {
    double low = to.decode(encoding);
    // Beyond the largest value, the spacing stays the same up to the threshold of infinity.
    double high = encoding + 1 == to.finiteCount() ? 2 * low - to.decode(encoding - 1)
                                                   : to.decode(encoding + 1);
    double middle = (low + high) / 2;
    addAround(low);
    addAround(middle);
    if (from.bits == 64) {
      // So close to a midpoint that rounding to f32 first would give the midpoint.
      double step = (high - low) * 0x1p-30;
      addAround(middle + step);
      addAround(middle - step);
    }
  }
  std::mt19937_64 random(20240229);
  for (int i = 0; i < 200000; ++i)
    result.push_back(from.bits == 64 ? random() : random() >> (64 - from.bits));
  return result;
}

} // namespace

TEST(StorageTest, EveryPairAtEdgeValues) {
  for (const StorageFormat *from : allFormats())
    for (const StorageFormat *to : allFormats())
      for (const StorageFormat *compute : {&f32, &f64})
        expectCopies(*from, *compute, *to, edgeEncodings(*from));
}

TEST(StorageTest, WidensEveryBFloat16) {
  expectCopies(bf16, f32, f32, allEncodings());
  expectCopies(bf16, f64, f64, allEncodings());
}

TEST(StorageTest, WidensEveryFloat16) {
  expectCopies(f16, f32, f32, allEncodings());
  expectCopies(f16, f64, f64, allEncodings());
}

TEST(StorageTest, SixteenBitsSurviveTheRoundTrip) {
  for (const StorageFormat *format : {&bf16, &f16})
    for (const StorageFormat *compute : {&f32, &f64})
      expectCopies(*format, *compute, *format, allEncodings());
}

TEST(StorageTest, RoundsF32ToNearestEven) {
  expectCopies(f32, f32, bf16, aroundMidpoints(f32, bf16));
  expectCopies(f32, f32, f16, aroundMidpoints(f32, f16));
}

TEST(StorageTest, RoundsF64Once) {
  expectCopies(f64, f64, bf16, aroundMidpoints(f64, bf16));
  expectCopies(f64, f64, f16, aroundMidpoints(f64, f16));
}

TEST(StorageTest, RoundsF64ToF32) {
  std::vector<uint64_t> inputs = edgeEncodings(f64);
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    inputs.push_back(random());
    // A midpoint of two f32 values, and its neighbours.
    uint64_t low = (random() >> 32) & ~f32.signBit();
    if (low + 1 >= f32.finiteCount())
      continue;
    uint64_t middle = f64.encode((f32.decode(low) + f32.decode(low + 1)) / 2);
    inputs.insert(inputs.end(), {middle - 1, middle, middle + 1, middle | f64.signBit()});
  }
  expectCopies(f64, f64, f32, inputs);
}

// A small integer isn't one of the formats above, so the reference is the documentation.
TEST(StorageTest, RoundsToTheNearestByte) {
  const StorageFormat byte{"i8", 8, 0, 0};
  for (const StorageFormat *format : {&f32, &f64}) {
    std::vector<uint64_t> inputs = edgeEncodings(*format);
    for (int quarter = -4 * 140; quarter <= 4 * 140; ++quarter)
      for (double near : {-1e-4, 0.0, 1e-4})
        inputs.push_back(format->encode(quarter / 4.0 + near));
    for (const CPUTarget &target : runnableTargets()) {
      JitPlan plan(copyPlan(*format, *format, byte), target);
      ASSERT_TRUE(plan.sweep);
      std::vector<std::byte> grad = pack(*format, inputs), param(inputs.size());
      void *streams[] = {param.data(), grad.data()};
      const upd_range range{0, static_cast<int64_t>(inputs.size())};
      plan.sweep(nullptr, streams, &range, 1, nullptr, nullptr);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const double value = format->decode(inputs[i]);
        const double bounded = std::isnan(value) ? 0 : std::clamp(value, -128.0, 127.0);
        ASSERT_EQ(static_cast<int8_t>(param[i]), std::nearbyint(bounded))
            << value << " (vectors of " << target.vectorBits << " bits)";
      }
    }
  }
}

// If every stream is bf16, vectors hold even and odd elements separately. The sum of three bf16
// values can be any f32: the first has its upper bits, and the others have eight of the lower bits
// each.
TEST(StorageTest, RoundsEveryLowerHalfWhereAllIsBFloat16) {
  const char *text = R"(updraft.plan @R compute f32 {
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  %s = updraft.stream "state" : !updraft.stream<bf16>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  updraft.sweep reads(%p, %g, %s : !updraft.stream<bf16>, !updraft.stream<bf16>,
      !updraft.stream<bf16>) writes(%p : !updraft.stream<bf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %low = arith.addf %b, %c : f32
    %sum = arith.addf %a, %low : f32
    updraft.store %sum : f32
  }
})";
  // Upper halves whose last bit is 0 and 1, and those before the next power of two and before
  // infinity.
  for (uint32_t upper : {0x3f80u, 0x3f81u, 0xc0ffu, 0xbf02u, 0x7f7fu, 0xff7eu, 0x0d00u}) {
    std::vector<uint64_t> sums, parts[3];
    for (uint32_t lower = 0; lower < 0x10000; ++lower) {
      const double sum = f32.decode(upper << 16 | lower), first = bf16.decode(upper);
      const double second = f32.decode(upper << 16 | (lower & 0xff00)) - first;
      sums.push_back(bf16.encode(sum));
      parts[0].push_back(upper);
      parts[1].push_back(bf16.encode(second));
      parts[2].push_back(bf16.encode(sum - first - second));
      ASSERT_EQ(bf16.decode(parts[1].back()) + bf16.decode(parts[2].back()), sum - first);
    }
    for (const CPUTarget &target : runnableTargets()) {
      JitPlan plan(text, target);
      ASSERT_TRUE(plan.sweep);
      std::vector<std::byte> data[3];
      for (int i = 0; i < 3; ++i)
        data[i] = pack(bf16, parts[i]);
      void *streams[] = {data[0].data(), data[1].data(), data[2].data()};
      const upd_range range{0, static_cast<int64_t>(sums.size())};
      plan.sweep(nullptr, streams, &range, 1, nullptr, nullptr);
      for (size_t i = 0; i < sums.size(); ++i)
        ASSERT_EQ(readElement(bf16, data[0].data(), i), sums[i])
            << std::hex << (upper << 16 | i) << " (vectors of " << std::dec << target.vectorBits
            << " bits)";
    }
  }
}

// The NaN of a scalar or constant, unlike that of a bf16 stream, can have a payload in its lower
// half. Rounding would carry it into the sign and store 0.
TEST(StorageTest, KeepsEveryNaNOfAScalarWhereAllIsBFloat16) {
  const char *text = R"(updraft.plan @R compute f32 {
  %h = updraft.hyper "h" = 1.0
  %p = updraft.stream "param" : !updraft.stream<bf16>
  %g = updraft.stream "grad" : !updraft.stream<bf16>
  updraft.initial() {
    updraft.yield
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  %k = updraft.prologue(%h) : (f64) -> f32 {
  ^bb0(%v: f64):
    %rounded = arith.truncf %v : f64 to f32
    updraft.yield %rounded : f32
  }
  updraft.sweep scalars(%k : f32) reads(%g : !updraft.stream<bf16>)
      writes(%p : !updraft.stream<bf16>) {
  ^bb0(%s: f32, %x: f32):
    BODY
    updraft.store %y : f32
  }
})";
  const size_t count = 100; // with a remainder, for vectors of any width
  const std::vector<std::byte> ones = pack(bf16, std::vector<uint64_t>(count, bf16.encode(1)));
  for (const char *body : {"%y = arith.mulf %x, %s : f32", "%y = arith.maximumf %s, %x : f32",
                           "%z = arith.subf %x, %x : f32\n%c = arith.cmpf oeq, %z, %z : f32\n"
                           "%y = arith.select %c, %s, %x : f32",
                           "%n = arith.constant 0xFFFFFFFF : f32\n%m = arith.addf %x, %s : f32\n"
                           "%y = arith.mulf %m, %n : f32"})
    for (const CPUTarget &target : runnableTargets()) {
      SCOPED_TRACE(std::string(body) + ", vectors of " + std::to_string(target.vectorBits));
      JitPlan plan(substitute(text, {{"BODY", body}}), target);
      ASSERT_TRUE(plan.sweep);
      for (int64_t payload : {0x8000000000000, 0xfffffffffffff, 0x1l, 0x8000000000001,
                              0x8000020000000, 0xfffffe0000000, 0x8001000000000, 0x4000000000000})
        for (uint64_t sign : {uint64_t(0), uint64_t(1) << 63}) {
          const auto hyper = std::bit_cast<double>(sign | 0x7ff0000000000000 | payload);
          const double facts[UPD_TENSOR_FACTS] = {};
          float row[2]; // the skip flag and the scalar
          plan.prologue(&hyper, facts, nullptr, nullptr, row, nullptr);
          std::vector<std::byte> grad = ones, param(count * bf16.bytes());
          void *streams[] = {param.data(), grad.data()};
          const upd_range range{0, count};
          plan.sweep(row, streams, &range, 1, nullptr, nullptr);
          for (size_t i = 0; i < count; ++i)
            ASSERT_TRUE(bf16.isNaN(readElement(bf16, param.data(), i)))
                << std::hex << payload << " became " << readElement(bf16, param.data(), i)
                << " in element " << std::dec << i;
        }
    }
}
