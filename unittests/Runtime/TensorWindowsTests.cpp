//===- TensorWindowsTests.cpp - Every tensor is in one window ---------------------------------===//

#include "runtime/cpu/TensorWindows.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace updraft::runtime;

namespace {

constexpr int64_t kib = 1024, mib = 1024 * kib;

TensorWindows windowsOf(const std::vector<int64_t> &bytes, size_t threads) {
  TensorWindows windows;
  for (int64_t size : bytes)
    windows.add({size, size / 8 + 32});
  windows.assign(threads);
  return windows;
}

std::vector<TensorWindows::Window> ownOf(const TensorWindows &windows, size_t thread) {
  const auto own = windows.own(thread);
  return {own.begin(), own.end()};
}

using List = std::vector<TensorWindows::Window>;

} // namespace

TEST(TensorWindows, EveryTensorIsInOne) {
  std::mt19937 random(3);
  bool hadBoth = false;
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> bytes(random() % 60);
    for (int64_t &size : bytes)
      size = static_cast<int64_t>(random() % 3 == 0   ? random() % (6 * mib)
                                  : random() % 2 == 0 ? random() % (300 * kib)
                                                      : random() % 1000);
    const size_t threads = 1 + random() % 5;
    const TensorWindows windows = windowsOf(bytes, threads);
    ASSERT_EQ(windows.threads(), threads);
    std::vector<int> found(bytes.size());
    auto bytesOf = [&](const TensorWindows::Window &window) {
      EXPECT_LT(window.begin, window.end);
      int64_t total = 0;
      for (size_t i = window.begin; i < window.end; ++i) {
        ++found[i];
        total += bytes[i];
      }
      return total;
    };
    for (const TensorWindows::Window &window : windows.shared()) {
      const int64_t most = TensorWindows::ownBytes * static_cast<int64_t>(threads);
      const auto first = bytes.begin() + static_cast<ptrdiff_t>(window.begin);
      const auto last = bytes.begin() + static_cast<ptrdiff_t>(window.end);
      EXPECT_TRUE(bytesOf(window) <= most || *std::min_element(first, last) > most);
    }
    int64_t all = 0, largest = 0;
    for (size_t thread = 0; thread < threads; ++thread) {
      int64_t cost = 0;
      for (const TensorWindows::Window &window : windows.own(thread)) {
        const bool isOne = window.end == window.begin + 1;
        EXPECT_LE(bytesOf(window), isOne ? TensorWindows::ownBytes : TensorWindows::severalBytes);
        for (size_t i = window.begin; i < window.end; ++i)
          cost += bytes[i] / 8 + 32;
      }
      all += cost;
      largest = std::max(largest, cost);
    }
    const auto count = static_cast<int64_t>(threads);
    EXPECT_LE(largest * count * 8, (all + count) * 9);
    EXPECT_EQ(std::count(found.begin(), found.end(), 1), static_cast<int64_t>(bytes.size()));
    hadBoth |= windows.hasOwn() && !windows.shared().empty();
  }
  EXPECT_TRUE(hadBoth);
}

TEST(TensorWindows, ThreadsHaveTheirOwn) {
  const TensorWindows windows = windowsOf(std::vector<int64_t>(8, mib), 2);
  EXPECT_TRUE(windows.shared().empty());
  EXPECT_EQ(ownOf(windows, 0), (List{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  EXPECT_EQ(ownOf(windows, 1), (List{{4, 5}, {5, 6}, {6, 7}, {7, 8}}));
}

TEST(TensorWindows, SmallTensorsAreTogether) {
  const TensorWindows windows = windowsOf(std::vector<int64_t>(16, 100 * kib), 2);
  EXPECT_EQ(ownOf(windows, 0), (List{{0, 2}, {2, 4}, {4, 6}, {6, 8}}));
  EXPECT_EQ(ownOf(windows, 1), (List{{8, 10}, {10, 12}, {12, 14}, {14, 16}}));
}

TEST(TensorWindows, LargeTensorsAreShared) {
  std::vector<int64_t> bytes(13, mib);
  bytes[2] = 6 * mib;   // and the tensors that fit the threads' caches with it
  bytes[7] = 100 * mib; // the next one that doesn't fit any cache
  bytes[8] = 50 * mib;
  const TensorWindows windows = windowsOf(bytes, 2);
  EXPECT_EQ(windows.shared(), (List{{2, 5}, {7, 9}}));
  EXPECT_EQ(ownOf(windows, 0), (List{{0, 1}, {1, 2}, {5, 6}, {6, 7}}));
  EXPECT_EQ(ownOf(windows, 1), (List{{9, 10}, {10, 11}, {11, 12}, {12, 13}}));
}

TEST(TensorWindows, IndivisibleWorkIsShared) {
  const TensorWindows windows = windowsOf({mib, mib, mib}, 2);
  EXPECT_EQ(windows.shared(), (List{{0, 3}}));
  EXPECT_FALSE(windows.hasOwn());
  EXPECT_EQ(ownOf(windows, 1), List());
}

TEST(TensorWindows, RecomputedForOtherThreadsAndTensors) {
  TensorWindows windows = windowsOf({mib, mib}, 2);
  EXPECT_EQ(ownOf(windows, 1), (List{{1, 2}}));
  windows.assign(1);
  EXPECT_EQ(windows.threads(), 1u);
  EXPECT_EQ(ownOf(windows, 0), (List{{0, 1}, {1, 2}}));
  windows.add({mib, mib});
  EXPECT_EQ(windows.threads(), 0u);
  windows.clear();
  EXPECT_EQ(windows.cost(), 0);
  windows.assign(3);
  EXPECT_FALSE(windows.hasOwn());
  EXPECT_EQ(ownOf(windows, 2), List());
}
