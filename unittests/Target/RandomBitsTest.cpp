//===- RandomBitsTest.cpp - Random bits of elements -------------------------------------------===//
// Compares the cipher with the known answers of its authors' Random123, and compiled code with the
// cipher.

#include "JitPlan.h"

#include <gtest/gtest.h>

#include <array>

using namespace updraft;
using namespace updraft::test;

namespace {

using Words = std::array<uint32_t, 4>;

/// Philox-4x32-10 as in the paper.
Words philox(Words counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0], second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint64_t expectedBits(const upd_site &site, uint64_t element, uint32_t stream) {
  Words words = philox({uint32_t(element), uint32_t(element >> 32), uint32_t(site.step),
                        uint32_t(site.tensor) * 16 + stream},
                       {uint32_t(site.seed), uint32_t(site.seed >> 32)});
  return uint64_t(words[1]) << 32 | words[0];
}

// The bits of two streams, unchanged, in the parameter and in a state.
const char *const text = R"(updraft.plan @R compute f64 MATRIX {
  %p = updraft.stream "param" : !updraft.stream<f64>
  %g = updraft.stream "grad" : !updraft.stream<f64>
  %s = updraft.stream "state" : !updraft.stream<f64>
  updraft.initial() {
    %zero = arith.constant 0.0 : f64
    updraft.yield %zero : f64
  }
  updraft.validate() messages [] {
    updraft.yield
  }
  RESULT updraft.sweep writes(%p, %s : !updraft.stream<f64>, !updraft.stream<f64>) REDUCES {
    %0 = updraft.random 0
    %1 = updraft.random 13
    %2 = arith.bitcast %0 : i64 to f64
    %3 = arith.bitcast %1 : i64 to f64
    updraft.store %2, %3 : f64, f64 REDUCED
  }
})";

std::string flatPlan() {
  return substitute(text, {{"MATRIX", ""}, {"RESULT", ""}, {"REDUCES", ""}, {"REDUCED", ""}});
}

// A sweep by rows.
std::string matrixPlan() {
  return substitute(text, {{"MATRIX", "matrix"},
                           {"RESULT", "%r ="},
                           {"REDUCES", "reduces [#updraft.reduction<max over row>] -> "
                                       "!updraft.stream<f64, row>"},
                           {"REDUCED", "reduce(%3)"}});
}

const upd_site sites[] = {{0, 0, 0, 5, 7},
                          {0x0123456789abcdef, 0x1ffffffff, 0x0fffffff, 5, 7},
                          {~uint64_t(0), 1, 3, 5, 7}};

} // namespace

TEST(RandomBitsTest, TheCipherGivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBitsTest, ElementZeroOfNothingIsAKnownAnswer) {
  JitPlan plan(flatPlan(), CPUTarget::host());
  ASSERT_TRUE(plan.sweep);
  uint64_t param = 0, state = 0;
  void *streams[] = {&param, nullptr, &state};
  const upd_range range{0, 1};
  const double row[] = {0};
  plan.sweep(row, streams, &range, 1, nullptr, &sites[0]);
  EXPECT_EQ(param, 0xe169c58d6627e8d5);
}

TEST(RandomBitsTest, EveryElementHasItsOwn) {
  // The second start has an index of more than 32 bits, so its streams begin far before their
  // memory.
  for (const CPUTarget &target : allLoopShapes())
    for (int64_t start : {int64_t(0), int64_t(1) << 33}) {
      JitPlan plan(flatPlan(), target);
      ASSERT_TRUE(plan.sweep);
      for (int64_t size : {1, 3, 8, 37}) {
        std::vector<uint64_t> params(3 * size), states(3 * size);
        std::vector<void *> streams;
        std::vector<upd_range> ranges(3, {start, start + size});
        for (int64_t tensor = 0; tensor < 3; ++tensor) {
          auto origin = [&](std::vector<uint64_t> &values) {
            auto address = reinterpret_cast<uintptr_t>(values.data() + tensor * size);
            return reinterpret_cast<void *>(address - start * sizeof(uint64_t));
          };
          streams.insert(streams.end(), {origin(params), nullptr, origin(states)});
        }
        const double row[] = {0};
        plan.sweep(row, streams.data(), ranges.data(), 3, nullptr, sites);
        for (int64_t tensor = 0; tensor < 3; ++tensor)
          for (int64_t i = 0; i < size; ++i) {
            ASSERT_EQ(params[tensor * size + i], expectedBits(sites[tensor], start + i, 0))
                << target.key() << " " << start + i;
            ASSERT_EQ(states[tensor * size + i], expectedBits(sites[tensor], start + i, 13));
          }
      }
    }
}

TEST(RandomBitsTest, APassByRowsGivesTheSame) {
  for (const CPUTarget &target : allLoopShapes()) {
    JitPlan plan(matrixPlan(), target);
    ASSERT_TRUE(plan.sweep);
    for (const upd_site &site : sites) {
      const int64_t size = 2 * site.rows * site.columns;
      std::vector<uint64_t> param(size), state(size);
      std::vector<double> rows(2 * site.rows);
      void *streams[] = {param.data(), nullptr, state.data(), rows.data()};
      const upd_range range{0, 2};
      const double row[] = {0};
      plan.sweep(row, streams, &range, 1, nullptr, &site);
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(param[i], expectedBits(site, i, 0)) << target.key() << " " << i;
        ASSERT_EQ(state[i], expectedBits(site, i, 13));
      }
    }
  }
}
