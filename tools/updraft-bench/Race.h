//===- Race.h - Timing contestants in turn ------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_RACE_H
#define UPDRAFT_TOOLS_BENCH_RACE_H

#include "tools/harness/Turns.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace updraft::bench {

/// One way to do a work.
struct Contestant {
  std::string impl;
  std::string dtype;
  harness::TimedWork run; ///< in seconds
};

/// A number that a row is there for, and what it has to be.
struct Figure {
  std::string is; ///< what the number is, with its unit: "x as fast as this"
  double value;
  std::optional<double> bound; ///< none: nothing is required
  bool atLeast = true;         ///< the bound is one from below

  bool reached() const { return !bound || (atLeast ? value >= *bound : value <= *bound); }
};

/// What the figure of a peer is.
inline constexpr const char *timesUpdraft = "x as long as updraft";

/// A line of the report. `ratioToLimit` is the time of the contestant called "limit" over this
/// one's: the median over rounds, so that a drift of the machine's speed cancels. 1 is the limit.
struct Row {
  std::string work;
  std::string impl;
  std::string dtype;
  double minMs;
  double medianMs;
  std::optional<double> ratioToLimit;
  std::optional<Figure> figure = {};
  std::vector<double> roundsMs = {}; ///< one time for each round, in the order of rounds
};

/// A row of times that come one for each round.
Row rowOf(std::string work, std::string impl, std::string dtype, std::vector<double> roundsMs);

/// Runs the contestants A B C, A B C, … and gives one row for each. The first round is not counted.
/// A short work is repeated within a round until it takes about `minSeconds`.
std::vector<Row> race(const std::string &work, std::vector<Contestant> contestants, int rounds,
                      double minSeconds = 5e-3);

/// Wraps a function that does the work once.
Contestant timed(std::string impl, std::string dtype, std::function<void()> once);

/// How many times as long as `other` a row takes: the median over the rounds of one race.
double timesAsLong(const Row &row, const Row &other);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_RACE_H
