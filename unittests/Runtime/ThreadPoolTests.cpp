//===- ThreadPoolTests.cpp - The library's own threads ----------------------------------------===//

#include "runtime/cpu/ThreadPool.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace updraft::runtime;

namespace {
struct Counts {
  explicit Counts(int32_t count) : counts(static_cast<size_t>(count)) {}
  std::vector<std::atomic<int>> counts;

  static void task(void *context, int32_t index) {
    static_cast<Counts *>(context)->counts[static_cast<size_t>(index)].fetch_add(1);
  }
  bool allAre(int expected) const {
    for (const std::atomic<int> &count : counts)
      if (count != expected)
        return false;
    return true;
  }
};
} // namespace

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int32_t threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threadCount(), threads);
    for (int32_t count : {0, 1, 2, 3, 7, 8, 9, 100}) {
      Counts counts(count);
      for (int i = 0; i < 20; ++i)
        pool.run(count, Counts::task, &counts);
      EXPECT_TRUE(counts.allAre(20)) << threads << " threads, " << count << " tasks";
    }
  }
}

TEST(ThreadPool, WakesUpAfterSleeping) {
  ThreadPool pool(4);
  Counts counts(4);
  for (int i = 0; i < 5; ++i) {
    usleep(20000); // longer than threads spin
    pool.run(4, Counts::task, &counts);
  }
  EXPECT_TRUE(counts.allAre(5));
}

// The pool's thread stays in its first task, so the caller must run its others.
TEST(ThreadPool, CallerRunsTasksOfALateThread) {
  ThreadPool pool(2);
  struct State {
    std::thread::id caller = std::this_thread::get_id();
    std::chrono::steady_clock::time_point end =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::atomic<int> byCaller = 0;
    std::atomic<bool> hasOther = false;

    bool isTooLate() const { return std::chrono::steady_clock::now() > end; }
  } state;
  pool.run(
      8,
      [](void *context, int32_t) {
        State &state = *static_cast<State *>(context);
        if (std::this_thread::get_id() == state.caller) {
          while (!state.hasOther && !state.isTooLate())
            std::this_thread::yield();
          ++state.byCaller;
          return;
        }
        state.hasOther = true;
        while (state.byCaller < 7 && !state.isTooLate())
          std::this_thread::yield();
      },
      &state);
  EXPECT_TRUE(state.hasOther);
  EXPECT_EQ(state.byCaller, 7);
}

// Threads that come too late for short jobs move to other CPUs.
TEST(ThreadPool, ItsThreadsMayUseTheSameCPUsAfterManyShortJobs) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  ThreadPool pool(4);
  Counts counts(4);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < end)
    pool.run(4, Counts::task, &counts);
  struct State {
    cpu_set_t allowed;
    std::atomic<int> started = 0, equal = 0;
  } state{.allowed = allowed};
  pool.run(
      4,
      [](void *context, int32_t) {
        State &state = *static_cast<State *>(context);
        for (++state.started; state.started < 4;) // each thread has one task
          std::this_thread::yield();
        cpu_set_t own;
        state.equal +=
            sched_getaffinity(0, sizeof(own), &own) == 0 && CPU_EQUAL(&own, &state.allowed);
      },
      &state);
  EXPECT_EQ(state.equal, 4);
}

TEST(ThreadPool, ServesSeveralCallers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      Counts counts(5);
      for (int j = 0; j < 200; ++j)
        pool.run(5, Counts::task, &counts);
      right += counts.allAre(200);
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(right, 4);
}

TEST(ThreadPool, TasksMayRunTasks) {
  ThreadPool pool(3);
  struct Nested {
    ThreadPool &pool;
    Counts counts{6};
  } nested{pool};
  pool.run(
      3,
      [](void *context, int32_t) {
        auto *nested = static_cast<Nested *>(context);
        nested->pool.run(6, Counts::task, &nested->counts);
      },
      &nested);
  EXPECT_TRUE(nested.counts.allAre(3));
}

TEST(ThreadPool, NumberOfThreads) {
  auto countWith = [](const char *text) {
    setenv("UPDRAFT_NUM_THREADS", text, 1);
    return ThreadPool::defaultThreadCount();
  };
  unsetenv("UPDRAFT_NUM_THREADS");
  const int32_t cpus = ThreadPool::defaultThreadCount();
  EXPECT_GE(cpus, 1);
  EXPECT_EQ(countWith("3"), 3);
  EXPECT_EQ(countWith("1024"), 1024);
  for (const char *text : {"", "0", "-1", "1025", "3x", "many", "99999999999999999999"})
    EXPECT_EQ(countWith(text), cpus) << text;
  unsetenv("UPDRAFT_NUM_THREADS");
}

TEST(ThreadPool, ChildOfForkHasItsOwn) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer allows no new threads after a fork";
#endif
#endif
  const upd_pool handle = ThreadPool::processHandle();
  Counts before(8);
  handle.run(handle.pool, 8, Counts::task, &before);
  EXPECT_TRUE(before.allAre(1));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20); // ends a child that waits for threads that don't exist
    Counts counts(8);
    for (int i = 0; i < 10; ++i)
      handle.run(handle.pool, 8, Counts::task, &counts);
    _exit(counts.allAre(10) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  handle.run(handle.pool, 8, Counts::task, &before);
  EXPECT_TRUE(before.allAre(2));
}
