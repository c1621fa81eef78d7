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

double updraft::bench::timesAsLong(const Row &row, const Row &other) {
  std::vector<double> ratios;
  for (size_t round = 0; round < row.roundsMs.size(); ++round)
    ratios.push_back(row.roundsMs[round] / other.roundsMs.at(round));
  return median(std::move(ratios));
}

Row updraft::bench::rowOf(std::string work, std::string impl, std::string dtype,
                          std::vector<double> roundsMs) {
  const double least = *std::min_element(roundsMs.begin(), roundsMs.end());
  return {std::move(work),  std::move(impl), std::move(dtype), least,
          median(roundsMs), std::nullopt,    std::nullopt,     std::move(roundsMs)};
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
  std::vector<std::vector<double>> times(contestants.size()); // ms
  std::vector<int> repeats;
  for (Contestant &contestant : contestants) {
    contestant.run(1);
    double once = contestant.run(1);
    repeats.push_back(std::clamp<int>(std::ceil(minSeconds / std::max(once, 1e-9)), 1, 100000));
  }
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < contestants.size(); ++i) {
      // Idle threads of the previous contestant may spin for some milliseconds. Wait, so that this
      // contestant doesn't pay for them.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (repeats[i] > 1)
        contestants[i].run(1); // excludes waking up from short works
      times[i].push_back(contestants[i].run(repeats[i]) * 1e3);
    }

  auto limit = std::find_if(contestants.begin(), contestants.end(),
                            [](const Contestant &c) { return c.impl == "limit"; });
  std::vector<Row> rows;
  for (size_t i = 0; i < contestants.size(); ++i)
    rows.push_back(rowOf(work, contestants[i].impl, contestants[i].dtype, std::move(times[i])));
  if (limit != contestants.end())
    for (Row &row : rows)
      row.ratioToLimit = timesAsLong(rows[limit - contestants.begin()], row);
  return rows;
}
