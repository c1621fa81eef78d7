//===- Race.cpp - Timing contestants in turn --------------------------------------------------===//

#include "Race.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace updraft::bench;
using namespace updraft::harness;

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
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    return time.count() / count;
  };
  return {std::move(impl), std::move(dtype), std::move(run)};
}

std::vector<Row> updraft::bench::race(const std::string &work, std::vector<Contestant> contestants,
                                      int rounds, double minSeconds) {
  std::vector<TimedWork> works;
  for (const Contestant &contestant : contestants)
    works.push_back(contestant.run);
  // Idle threads of the previous contestant may spin for some milliseconds. Wait, so that this
  // contestant doesn't pay for them.
  auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  std::vector<std::vector<double>> times = timeInTurn(
      works, {.rounds = rounds, .least = minSeconds, .mostRepeats = 100000, .beforeTurn = wait});

  for (std::vector<double> &of : times)
    for (double &time : of)
      time *= 1e3;
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
