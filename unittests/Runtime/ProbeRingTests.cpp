//===- ProbeRingTests.cpp - Rows of probes for readers that don't stop the writer -------------===//

#include "runtime/optimizer/ProbeRing.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

using updraft::runtime::ProbeRing;

namespace {

/// Adds a row whose members follow from its number.
void add(ProbeRing &ring, uint64_t number) {
  const std::array<double, 2> values{double(number), -double(number)};
  ring.add({int64_t(number + 1), uint32_t(number % 7)}, values);
}

struct Rows {
  std::vector<ProbeRing::Row> rows;
  std::vector<double> values;
  ProbeRing::Read read;
};

Rows readUpTo(const ProbeRing &ring, uint64_t &cursor, size_t most) {
  Rows result{std::vector<ProbeRing::Row>(most), std::vector<double>(most * ring.probes()), {}};
  result.read = ring.read(cursor, result.rows, result.values.data());
  return result;
}

/// Whether a row is one that `add` has made.
bool isWhole(const ProbeRing::Row &row, const double *values) {
  const auto number = uint64_t(row.step - 1);
  return row.param == number % 7 && values[0] == double(number) && values[1] == -double(number);
}

TEST(ProbeRing, ReturnsRowsInOrder) {
  ProbeRing ring(6, 2);
  EXPECT_EQ(ring.capacity(), 8u);
  uint64_t cursor = 0;
  EXPECT_EQ(readUpTo(ring, cursor, 4).read.count, 0u);
  for (uint64_t i = 0; i < 5; ++i)
    add(ring, i);
  Rows some = readUpTo(ring, cursor, 3);
  EXPECT_EQ(some.read.count, 3u);
  EXPECT_EQ(some.read.lost, 0u);
  EXPECT_EQ(some.rows[0].step, 1);
  EXPECT_EQ(some.rows[2].param, 2u);
  EXPECT_EQ(some.values[5], -2);
  EXPECT_EQ(cursor, 3u);
  some = readUpTo(ring, cursor, 3);
  EXPECT_EQ(some.read.count, 2u);
  EXPECT_EQ(some.rows[1].step, 5);
  EXPECT_EQ(readUpTo(ring, cursor, 3).read.count, 0u);
}

TEST(ProbeRing, TellsHowManyRowsWereLost) {
  ProbeRing ring(8, 2);
  for (uint64_t i = 0; i < 20; ++i)
    add(ring, i);
  uint64_t cursor = 2;
  const Rows all = readUpTo(ring, cursor, 100);
  EXPECT_EQ(all.read.lost, 10u);
  ASSERT_EQ(all.read.count, 8u);
  EXPECT_EQ(all.rows[0].step, 13);
  EXPECT_EQ(all.rows[7].step, 20);
  EXPECT_EQ(cursor, 20u);
}

TEST(ProbeRing, TakesACursorFromTheFutureAsTheEnd) {
  ProbeRing ring(8, 2);
  add(ring, 0);
  uint64_t cursor = 100;
  EXPECT_EQ(readUpTo(ring, cursor, 4).read.count, 0u);
  EXPECT_EQ(cursor, 1u);
}

TEST(ProbeRing, HasNoMemoryWithoutProbes) {
  const ProbeRing ring(1 << 20, 0);
  EXPECT_EQ(ring.capacity(), 0u);
  uint64_t cursor = 0;
  EXPECT_EQ(readUpTo(ring, cursor, 4).read.count, 0u);
}

TEST(ProbeRing, GivesCompleteRowsWhileOthersAreAdded) {
  constexpr uint64_t count = 200000;
  ProbeRing ring(64, 2);
  std::vector<std::thread> readers;
  std::array<uint64_t, 2> seen{};
  std::array<bool, 2> areWhole{true, true};
  for (size_t reader = 0; reader < 2; ++reader)
    readers.emplace_back([&, reader] {
      uint64_t cursor = 0;
      int64_t last = 0;
      while (cursor < count) {
        const Rows some = readUpTo(ring, cursor, 16);
        for (size_t i = 0; i < some.read.count; ++i) {
          areWhole[reader] &= isWhole(some.rows[i], some.values.data() + 2 * i);
          areWhole[reader] &= some.rows[i].step > last;
          last = some.rows[i].step;
        }
        seen[reader] += some.read.count + some.read.lost;
      }
    });
  for (uint64_t i = 0; i < count; ++i)
    add(ring, i);
  for (std::thread &reader : readers)
    reader.join();
  for (size_t reader = 0; reader < 2; ++reader) {
    EXPECT_TRUE(areWhole[reader]);
    EXPECT_EQ(seen[reader], count);
  }
}

} // namespace
