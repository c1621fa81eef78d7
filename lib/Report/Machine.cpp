//===- Machine.cpp - The speed of this machine's memory ---------------------------------------===//

#include "Machine.h"

#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

using namespace updraft;

namespace {
constexpr size_t floatsPerThread = 8 << 20; // 32 MiB, more than the share of a core in a cache
constexpr unsigned maxThreads = 32;
constexpr int rounds = 4;

/// Adds to every element, as a step without arithmetic would.
void touch(std::vector<float> &values) {
  for (float &value : values)
    value += 1;
}

double bytesPerSecond(unsigned threads) {
  std::vector<std::vector<float>> values(threads);
  std::vector<std::thread> running;
  auto onAll = [&](const std::function<void(std::vector<float> &)> &work) {
    running.clear();
    for (std::vector<float> &part : values)
      running.emplace_back([&] { work(part); });
    for (std::thread &thread : running)
      thread.join();
  };
  onAll([](std::vector<float> &part) { part.resize(floatsPerThread); });
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    onAll(touch);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * sizeof(float) * floatsPerThread * threads / taken.count());
  }
  return best;
}
} // namespace

llvm::json::Object updraft::measuredMachine() {
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, maxThreads);
  static const double bandwidth = bytesPerSecond(threads);
  return llvm::json::Object{
      {"cpu", llvm::sys::getHostCPUName()}, {"threads", threads}, {"bytesPerSecond", bandwidth}};
}
