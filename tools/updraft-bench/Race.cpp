//===- Race.cpp - Timing contestants in turn --------------------------------------------------===//

#include "Race.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

using namespace updraft::bench;

double updraft::bench::median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Contestant updraft::bench::timed(std::string impl, std::string dtype, std::function<void()> once) {
  auto run = [once = std::move(once)](int count) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i)
      once();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return seconds.count() / count;
  };
  return {std::move(impl), std::move(dtype), std::move(run)};
}

std::vector<Row> updraft::bench::race(const std::string &work, std::vector<Contestant> contestants,
                                      int rounds, double minSeconds) {
  std::vector<std::vector<double>> seconds(contestants.size());
  std::vector<int> repeats;
  for (Contestant &contestant : contestants) {
    contestant.run(1);
    double once = contestant.run(1);
    repeats.push_back(std::clamp<int>(std::ceil(minSeconds / std::max(once, 1e-9)), 1, 100000));
  }
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < contestants.size(); ++i) {
      // Idle threads of the one before may spin for some milliseconds, which is not this one's
      // cost.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (repeats[i] > 1)
        contestants[i].run(1); // and waking up is not a short work's
      seconds[i].push_back(contestants[i].run(repeats[i]));
    }

  auto limit = std::find_if(contestants.begin(), contestants.end(),
                            [](const Contestant &c) { return c.impl == "limit"; });
  std::vector<Row> rows;
  for (size_t i = 0; i < contestants.size(); ++i) {
    std::optional<double> ratio;
    if (limit != contestants.end()) {
      std::vector<double> ratios;
      for (int round = 0; round < rounds; ++round)
        ratios.push_back(seconds[limit - contestants.begin()][round] / seconds[i][round]);
      ratio = median(ratios);
    }
    rows.push_back({work, contestants[i].impl, contestants[i].dtype,
                    *std::min_element(seconds[i].begin(), seconds[i].end()) * 1e3,
                    median(seconds[i]) * 1e3, ratio});
  }
  return rows;
}
