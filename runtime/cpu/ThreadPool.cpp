//===- ThreadPool.cpp - The library's own threads ---------------------------------------------===//

#include "runtime/cpu/ThreadPool.h"

#include "runtime/cpu/CpuQuota.h"
#include "runtime/timeline/Span.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

using namespace updraft::runtime;

namespace {
constexpr int32_t maxThreads = 1024;
// How long a thread spins before it sleeps: about the time between two steps of a trainer's inner
// loop. Spinning longer would take CPU time from other work of the host.
constexpr std::chrono::microseconds patience(300);
// They take some hundreds of nanoseconds.
constexpr int pausesPerYield = 16;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// Waits until `value` differs from `old`. Spins before it sleeps. Yields after some pauses: the
/// thread that changes the value may need the core.
uint32_t waitForChange(const std::atomic<uint32_t> &value, uint32_t old) {
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    for (int i = 0; i < pausesPerYield; ++i) {
      const uint32_t now = value.load(std::memory_order_acquire);
      if (now != old)
        return now;
      relax();
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

/// Moves this thread to another CPU that it may use, if there is one. Afterwards it may use the
/// same CPUs as before.
void leaveCPU() {
  cpu_set_t allowed, others;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return;
  others = allowed;
  CPU_CLR(sched_getcpu(), &others);
  if (CPU_COUNT(&others) != 0 && sched_setaffinity(0, sizeof(others), &others) == 0)
    sched_setaffinity(0, sizeof(allowed), &allowed);
}

/// Blocks all signals, so that the host's handlers never run on threads created meanwhile.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &saved, nullptr); }

private:
  sigset_t saved;
};
} // namespace

/// Runs one job at a time. A job has a number, and a lane of consecutive tasks for each thread. A
/// lane's ticket has the number in its upper half, and in the lower one how many tasks nobody has
/// taken yet. A thread that wakes up late finds some taken by the caller, or another job's number;
/// then it doesn't access the job.
class ThreadPool::Workers {
public:
  explicit Workers(int32_t threads);
  ~Workers();

  int32_t threadCount() const { return static_cast<int32_t>(threads.size()) + 1; }
  void run(int32_t count, Task task, void *context);

private:
  struct alignas(64) Lane {
    std::atomic<uint64_t> ticket = 0;
  };

  void work(int32_t lane);
  uint32_t runLane(int32_t lane, uint32_t number);
  /// The first task of a lane. That of the next lane is the end.
  int32_t firstOf(int32_t lane) const {
    return static_cast<int32_t>(int64_t(count) * lane / laneCount);
  }

  std::mutex busy;
  std::vector<std::thread> threads;
  std::vector<Lane> lanes;

  // The job. Written before its lanes become free, and read only by threads that have taken a lane.
  Task task = nullptr;
  void *context = nullptr;
  int32_t count = 0;
  int32_t laneCount = 0;

  std::atomic<int> callerCPU = -1; // when the job began

  // 32 bits, for which the system can wait directly. No thread sleeps until the number repeats.
  alignas(64) std::atomic<uint32_t> current = 0; // the number of the job
  std::atomic<bool> stopping = false;
  alignas(64) std::atomic<uint32_t> unfinished = 0; // tasks of the job
};

ThreadPool::Workers::Workers(int32_t wanted) : lanes(std::max(wanted, 1)) {
  BlockedSignals blocked;
  threads.reserve(lanes.size() - 1);
  for (size_t lane = 1; lane < lanes.size(); ++lane) {
    try {
      threads.emplace_back([this, lane] { work(static_cast<int32_t>(lane)); });
    } catch (const std::exception &) {
      return; // the pool has the threads that could be created
    }
  }
}

ThreadPool::Workers::~Workers() {
  stopping.store(true, std::memory_order_relaxed);
  current.fetch_add(1, std::memory_order_release);
  current.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

/// Runs the lane's tasks that nobody else takes, and returns their number. The job can't end before
/// the caller of this function has subtracted the number from `unfinished`.
uint32_t ThreadPool::Workers::runLane(int32_t lane, uint32_t number) {
  std::atomic<uint64_t> &ticket = lanes[lane].ticket;
  uint32_t done = 0;
  for (uint64_t seen = ticket.load(std::memory_order_acquire);
       seen >> 32 == number && static_cast<uint32_t>(seen) != 0;) {
    if (!ticket.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel))
      continue;
    task(context, firstOf(lane + 1) - static_cast<int32_t>(seen));
    ++done;
    seen = ticket.load(std::memory_order_acquire);
  }
  return done;
}

void ThreadPool::Workers::work(int32_t lane) {
  // Shown by debuggers, profilers and the timeline.
  pthread_setname_np(pthread_self(), ("updraft " + std::to_string(lane)).c_str());
  uint32_t seen = 0;
  for (;;) {
    {
      const timeline::Span span("idle", "wait for work");
      seen = waitForChange(current, seen);
    }
    if (stopping.load(std::memory_order_relaxed))
      return;
    const uint32_t done = runLane(lane, seen);
    // Too late, perhaps because it waited for the caller's CPU. The system may leave it there for
    // many jobs if a thread on another CPU spins.
    if (done == 0 && sched_getcpu() == callerCPU.load(std::memory_order_relaxed))
      leaveCPU();
    if (done != 0 && unfinished.fetch_sub(done, std::memory_order_acq_rel) == done)
      unfinished.notify_one();
  }
}

void ThreadPool::Workers::run(int32_t newCount, Task newTask, void *newContext) {
  std::unique_lock lock(busy, std::try_to_lock);
  const int32_t needed = std::min(newCount, threadCount());
  if (!lock || needed <= 1) {
    for (int32_t i = 0; i < newCount; ++i)
      newTask(newContext, i);
    return;
  }
  task = newTask;
  context = newContext;
  count = newCount;
  laneCount = needed;
  callerCPU.store(sched_getcpu(), std::memory_order_relaxed);
  const uint32_t number = current.load(std::memory_order_relaxed) + 1;
  unfinished.store(static_cast<uint32_t>(count), std::memory_order_relaxed);
  for (int32_t lane = 0; lane < needed; ++lane)
    lanes[lane].ticket.store(uint64_t(number) << 32 |
                                 static_cast<uint32_t>(firstOf(lane + 1) - firstOf(lane)),
                             std::memory_order_release);
  current.store(number, std::memory_order_release);
  current.notify_all();

  // Runs the caller's lane, then tasks of threads that wake up late.
  uint32_t done = 0;
  for (int32_t lane = 0; lane < needed; ++lane)
    done += runLane(lane, number);
  uint32_t left = unfinished.fetch_sub(done, std::memory_order_acq_rel) - done;
  while (left != 0)
    left = waitForChange(unfinished, left);
}

ThreadPool::ThreadPool(int32_t threads) : workers(std::make_unique<Workers>(threads)) {}
ThreadPool::~ThreadPool() = default;

int32_t ThreadPool::threadCount() const { return workers->threadCount(); }
void ThreadPool::run(int32_t count, Task task, void *context) {
  workers->run(count, task, context);
}

upd_pool ThreadPool::handle() {
  upd_pool pool;
  pool.run = [](void *self, int32_t count, Task task, void *context) {
    static_cast<ThreadPool *>(self)->run(count, task, context);
  };
  pool.thread_count = [](void *self) { return static_cast<ThreadPool *>(self)->threadCount(); };
  pool.pool = this;
  return pool;
}

int32_t ThreadPool::defaultThreadCount() {
  if (const char *text = std::getenv("UPDRAFT_NUM_THREADS")) {
    const char *end = text + std::strlen(text);
    int32_t value = 0;
    auto [rest, error] = std::from_chars(text, end, value);
    if (error == std::errc() && rest == end && value >= 1 && value <= maxThreads)
      return value;
  }
  cpu_set_t cpus;
  auto count = static_cast<int32_t>(std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
    count = CPU_COUNT(&cpus);
  // A control group that has used up its quota waits, so more threads would make a step longer.
  if (const int32_t quota = cpuQuota())
    count = std::min(count, quota);
  return std::clamp(count, 1, maxThreads);
}

namespace {
/// The mutex and the pool are never destroyed, because tasks may run while the process exits.
std::mutex &creationMutex() {
  static std::mutex &mutex = *new std::mutex;
  return mutex;
}
std::atomic<ThreadPool *> processPool = nullptr;

/// A child process has only the thread that forked, so it needs a free mutex and a new pool. The
/// parent's pool isn't destroyed in the child, because its threads don't exist there.
void watchForks() {
  pthread_atfork([] { creationMutex().lock(); }, [] { creationMutex().unlock(); },
                 [] {
                   processPool.store(nullptr);
                   creationMutex().unlock();
                 });
}
} // namespace

ThreadPool *ThreadPool::process() {
  if (ThreadPool *pool = processPool.load(std::memory_order_acquire))
    return pool;
  try {
    std::lock_guard lock(creationMutex());
    if (ThreadPool *pool = processPool.load(std::memory_order_relaxed))
      return pool;
    static const bool watching = (watchForks(), true);
    static_cast<void>(watching);
    auto *pool = new ThreadPool(defaultThreadCount());
    processPool.store(pool, std::memory_order_release);
    return pool;
  } catch (...) {
    return nullptr;
  }
}

upd_pool ThreadPool::processHandle() {
  upd_pool pool;
  pool.run = [](void *, int32_t count, Task task, void *context) {
    if (ThreadPool *pool = process())
      return pool->run(count, task, context);
    for (int32_t i = 0; i < count; ++i)
      task(context, i);
  };
  pool.thread_count = [](void *) -> int32_t {
    ThreadPool *pool = process();
    return pool ? pool->threadCount() : 1;
  };
  pool.pool = nullptr;
  return pool;
}
