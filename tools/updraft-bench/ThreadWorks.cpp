//===- ThreadWorks.cpp - Benchmarks of many host threads at once ------------------------------===//
// As on a parameter server: each thread steps its own optimizer independently, and all share the
// cores of the processor.

#include "Stepper.h"
#include "Work.h"
#include "runtime/cpu/ThreadPool.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <sched.h>
#include <stdexcept>

using namespace updraft::bench;

namespace {
/// The minimum speed-up of two cores over one.
constexpr double fasterOnTwo = 1.6;

/// CPUs that this process may use.
std::vector<int> usableCpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0)
    throw std::runtime_error(fmt::format("cannot get the usable CPUs: {}", std::strerror(errno)));
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set))
      cpus.push_back(cpu);
  return cpus;
}

/// From now on, the calling thread runs on the first `count` of `cpus`.
void stayOn(const std::vector<int> &cpus, size_t count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (size_t i = 0; i < count; ++i)
    CPU_SET(cpus[i], &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0)
    throw std::runtime_error(
        fmt::format("cannot set the CPUs of a thread: {}", std::strerror(errno)));
}

std::vector<Row> run(const BenchOptions &options, const std::string &work) {
  const std::vector<int> cpus = usableCpus();
  updraft::runtime::ThreadPool callerAlone(1);
  StepSetup setup;
  setup.rule.file = options.rulesDir + "/adamw.upd";
  setup.elements = options.quick ? 2000 : 500'000;
  setup.rule.numerics = options.numerics;
  setup.pool = callerAlone.handle();
  std::vector<std::unique_ptr<Stepper>> steppers(16);
  for (auto &stepper : steppers)
    stepper = std::make_unique<Stepper>(setup);

  auto onCores = [&](size_t cores) {
    return [&, cores](int count) {
      const auto start = std::chrono::steady_clock::now();
      std::vector<std::future<void>> threads;
      for (auto &stepper : steppers)
        threads.push_back(std::async(std::launch::async, [&, cores, count] {
          stayOn(cpus, cores);
          for (int i = 0; i < count; ++i)
            stepper->step();
        }));
      for (std::future<void> &thread : threads)
        thread.get();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      return taken.count() / count;
    };
  };
  std::vector<Contestant> contestants{{"one core", "f32", onCores(1)}};
  if (cpus.size() > 1)
    contestants.push_back({"two cores", "f32", onCores(2)});
  // Long enough that the time to start a thread doesn't matter.
  std::vector<Row> rows = race(options.labelled(work), std::move(contestants),
                               options.quick ? 3 : 21, options.quick ? 1e-4 : 0.1);
  if (rows.size() > 1) {
    rows[0].figure = {"x as long as on two", timesAsLong(rows[0], rows[1]), fasterOnTwo};
    if (options.quick) // the bound doesn't apply to another size
      rows[0].figure->bound.reset();
  }
  return rows;
}
} // namespace

std::vector<Work> updraft::bench::threadWorks() {
  const std::string name = "threads-16x500k";
  return {{name, "AdamW, 16 threads that step 500 k f32 each, on one core and on two",
           [name](const BenchOptions &options) { return run(options, name); }}};
}
