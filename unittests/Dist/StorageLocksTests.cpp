//===- StorageLocksTests.cpp - One lock for each storage of the process -----------------------===//

#include "runtime/dist/LockWait.h"
#include "runtime/dist/StorageLocks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <optional>
#include <random>
#include <thread>

using updraft::dist::StorageLocks;
using namespace std::chrono_literals;

/// Threads that each take random sets in random orders add to what they hold.
TEST(StorageLocks, KeepsThreadsApartWhateverTheyTake) {
  constexpr size_t storages = 12, threads = 8, rounds = 2000;
  std::vector<int64_t> counts(storages);
  std::vector<std::thread> running;
  std::vector<std::vector<int64_t>> expected(threads, std::vector<int64_t>(storages));
  for (size_t thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      // Sets of their own over the same storages, in another order, with one of them twice.
      std::vector<const void *> mine;
      for (size_t i = 0; i < storages; ++i)
        mine.push_back(&counts[(i * 5 + thread) % storages]);
      mine.push_back(mine.front());
      const StorageLocks locks(mine);
      for (size_t round = 0; round < rounds; ++round) {
        std::vector<size_t> places;
        for (size_t count = 1 + random() % 4; count > 0; --count)
          places.push_back(random() % mine.size());
        StorageLocks::Guard guard(locks, places);
        for (size_t place : places) {
          auto *count = static_cast<int64_t *>(const_cast<void *>(mine[place]));
          ++*count;
          ++expected[thread][static_cast<size_t>(count - counts.data())];
        }
      }
    });
  for (std::thread &thread : running)
    thread.join();
  for (size_t i = 0; i < storages; ++i) {
    int64_t sum = 0;
    for (const std::vector<int64_t> &some : expected)
      sum += some[i];
    EXPECT_EQ(counts[i], sum);
  }
}

TEST(StorageLocks, LetsThoseRunTogetherThatShareNothing) {
  int first = 0, second = 0;
  const StorageLocks locks({&first, &second});
  std::latch both(2);
  auto run = [&](size_t place) {
    StorageLocks::Guard guard(locks, {place});
    // Each waits for the other while it holds its lock.
    both.arrive_and_wait();
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

TEST(StorageLocks, CountsWhatIsWaited) {
  int storage = 0;
  const StorageLocks locks({&storage});
  const int64_t before = updraft::dist::lockWait();
  {
    StorageLocks::Guard free(locks, {0});
  }
  EXPECT_EQ(updraft::dist::lockWait(), before);
  const auto start = std::chrono::steady_clock::now();
  // Whether the other thread has come to the lock cannot be seen: it is held for longer and longer.
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
      sets.emplace_back(std::vector<const void *>{&storage});
    for (const StorageLocks &set : sets)
      StorageLocks::Guard guard(set, {0});
  }
}
