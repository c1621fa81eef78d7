//===- Race.h - Timing contestants in turns -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_RACE_H
#define UPDRAFT_TOOLS_BENCH_RACE_H

#include "tools/harness/Turns.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace updraft::bench {

/// One implementation of a work.
struct Contestant {
  std::string impl;
  std::string dtype;
  harness::TimedWork run; ///< in seconds
};

/// A number that a row exists for, and its bound.
struct Figure {
  std::string is; ///< description with the unit: "x as fast as this"
  double value;
  std::optional<double> bound; ///< empty: not checked
  bool atLeast = true;         ///< the bound is a minimum

  bool reached() const { return !bound || (atLeast ? value >= *bound : value <= *bound); }
};

/// The description of a peer's figure.
inline constexpr const char *timesUpdraft = "x as long as updraft";

/// A line of the report. `ratioToLimit` is the time of the contestant named "limit" divided by this
/// contestant's time, as the median over rounds, so that drift of the machine's speed cancels. 1 is
/// the limit.
struct Row {
  std::string work;
  std::string impl;
  std::string dtype;
  double minMs;
  double medianMs;
  std::optional<double> ratioToLimit;
  std::optional<Figure> figure = {};
  std::vector<double> roundsMs = {}; ///< one time per round, in order
};

/// A row from one time per round.
Row rowOf(std::string work, std::string impl, std::string dtype, std::vector<double> roundsMs);

/// Runs the contestants A B C, A B C, … and returns one row for each. The first round is a warm-up.
/// A short work is repeated within a round until it takes about `minSeconds`.
std::vector<Row> race(const std::string &work, std::vector<Contestant> contestants, int rounds,
                      double minSeconds = 5e-3);

/// Wraps a function that does the work once.
Contestant timed(std::string impl, std::string dtype, std::function<void()> once);

/// The time of `row` divided by that of `other`: the median over the rounds of one race.
double timesAsLong(const Row &row, const Row &other);

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_RACE_H
