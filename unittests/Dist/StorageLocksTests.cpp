//===- StorageLocksTests.cpp - Locks for the memory that steps write --------------------------===//

#include "runtime/dist/Lock.h"
#include "runtime/dist/StorageLocks.h"
#include "runtime/timeline/Recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>

using updraft::dist::StorageLocks;
using updraft::runtime::MemoryRange;
using namespace std::chrono_literals;

template <typename Value> static MemoryRange rangeOf(const Value &value) {
  return {&value, sizeof(value)};
}

/// Threads that each take random sets of overlapping ranges, from one element to all of them, and
/// add to the contents.
TEST(StorageLocks, ExcludesThreadsForAnyRanges) {
  constexpr size_t elements = 12, ranges = 16, threads = 8, rounds = 2000;
  std::vector<int64_t> counts(elements);
  std::vector<std::thread> running;
  std::vector<std::vector<int64_t>> expected(threads, std::vector<int64_t>(elements));
  for (size_t thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::vector<std::pair<size_t, size_t>> mine;
      std::vector<MemoryRange> memory;
      for (size_t i = 0; i < ranges; ++i) {
        const size_t begin = random() % elements;
        const size_t count =
            1 + random() % (i == 0 ? elements - begin : std::min<size_t>(3, elements - begin));
        mine.emplace_back(begin, begin + count);
        memory.emplace_back(&counts[begin], count * sizeof(int64_t));
      }
      const StorageLocks locks(memory);
      for (size_t round = 0; round < rounds; ++round) {
        std::vector<size_t> places;
        for (size_t count = 1 + random() % 4; count > 0; --count)
          places.push_back(random() % ranges);
        StorageLocks::Guard guard(locks, places);
        for (size_t place : places)
          for (size_t element = mine[place].first; element < mine[place].second; ++element) {
            ++counts[element];
            ++expected[thread][element];
          }
      }
    });
  for (std::thread &thread : running)
    thread.join();
  for (size_t i = 0; i < elements; ++i) {
    int64_t sum = 0;
    for (const std::vector<int64_t> &some : expected)
      sum += some[i];
    EXPECT_EQ(counts[i], sum);
  }
}

/// Takes one while another thread holds the other, and while it doesn't.
static void take(const StorageLocks &one, const StorageLocks &other, bool together) {
  std::optional<StorageLocks::Guard> held(std::in_place, one, std::vector<size_t>{0});
  std::atomic<bool> isTaken = false;
  std::thread taker([&] {
    StorageLocks::Guard guard(other, {0});
    isTaken = true;
  });
  if (together) {
    taker.join();
    return;
  }
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(isTaken);
  held.reset();
  taker.join();
}

TEST(StorageLocks, OverlappingRangesShareALock) {
  std::vector<char> memory(100);
  auto locks = [&](size_t begin, size_t end) {
    return StorageLocks({MemoryRange(&memory[begin], end - begin)});
  };
  const StorageLocks middle = locks(40, 60);
  for (auto [begin, end] :
       {std::pair<size_t, size_t>{40, 60}, {0, 99}, {59, 99}, {0, 41}, {50, 51}})
    take(middle, locks(begin, end), false);
  for (auto [begin, end] : {std::pair<size_t, size_t>{60, 99}, {0, 40}, {50, 50}})
    take(middle, locks(begin, end), true);
  // The earlier of the two is destroyed, and an equal one is created while others have its lock.
  auto earlier = std::make_unique<StorageLocks>(locks(0, 10));
  const StorageLocks later = locks(5, 20);
  earlier.reset();
  take(later, locks(0, 10), false);
  take(locks(0, 6), later, false);
}

TEST(StorageLocks, DisjointRangesDoNotWait) {
  int first = 0, second = 0;
  const StorageLocks locks({rangeOf(first), rangeOf(second)});
  std::latch both(2);
  auto run = [&](size_t place) {
    StorageLocks::Guard guard(locks, {place});
    // Each waits for the other while holding its lock.
    both.arrive_and_wait();
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

TEST(StorageLocks, CountsWaitingTime) {
  int storage = 0;
  const StorageLocks locks({rangeOf(storage)});
  const int64_t before = updraft::dist::lockWait();
  {
    StorageLocks::Guard free(locks, {0});
  }
  EXPECT_EQ(updraft::dist::lockWait(), before);
  const auto start = std::chrono::steady_clock::now();
  // It isn't visible whether the other thread has reached the lock, so this holds it for increasing
  // times.
  for (auto held = 1ms; updraft::dist::lockWait() == before; held *= 2) {
    std::optional<StorageLocks::Guard> guard(std::in_place, locks, std::vector<size_t>{0});
    std::thread other([&] { StorageLocks::Guard waiting(locks, {0}); });
    std::this_thread::sleep_for(held);
    guard.reset();
    other.join();
  }
  const auto taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(updraft::dist::lockWait() - before, std::chrono::nanoseconds(taken).count());
}

TEST(StorageLocks, SetsComeAndGo) {
  std::vector<int> storages(1000);
  for (int round = 0; round < 20; ++round) {
    std::vector<StorageLocks> sets;
    for (const int &storage : storages)
      sets.emplace_back(std::vector<MemoryRange>{rangeOf(storage)});
    for (const StorageLocks &set : sets)
      StorageLocks::Guard guard(set, {0});
  }
}

/// Only a lock that isn't free makes a span, with the name of what it guards.
TEST(StorageLocks, TheTimelineShowsWaitsForParameters) {
  namespace timeline = updraft::timeline;
  double weight = 0, bias = 0;
  const auto nameOf = [](size_t place) { return std::string(place == 0 ? "`weight`" : "`bias`"); };
  const StorageLocks locks({rangeOf(weight), rangeOf(bias)}, nameOf);
  ASSERT_EQ(timeline::start(), timeline::Started::Yes);
  {
    const StorageLocks::Guard free(locks, {0, 1});
  }
  EXPECT_EQ(timeline::spanCount(), 0u);
  const StorageLocks::Guard held(locks, {1});
  EXPECT_FALSE(locks.lock({0, 1}, 1ms));
  EXPECT_EQ(timeline::spanCount(), 1u);
  const std::string path = testing::TempDir() + "locks.json";
  std::string why;
  ASSERT_EQ(timeline::stop(&path, why), timeline::Stopped::Yes) << why;
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find(R"("name":"wait for `bias`","cat":"lock","ph":"X")"), std::string::npos)
      << text;
  std::filesystem::remove(path);
}
