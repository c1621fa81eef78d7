//===- Turns.h - Timing contestants in turns ----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_HARNESS_TURNS_H
#define UPDRAFT_TOOLS_HARNESS_TURNS_H

#include <functional>
#include <vector>

namespace updraft::harness {

/// Does a work `count` times and returns the time per repetition, in a unit of the caller's choice.
using TimedWork = std::function<double(int count)>;

struct TurnSettings {
  int rounds;
  double least;                             ///< minimum time of a turn; shorter works are repeated
  int mostRepeats;                          ///< limit of repetitions in a turn
  std::function<void()> beforeTurn = [] {}; ///< not timed
};

/// Runs the contestants A B C, A B C, … and returns the times of each, one per round. Before the
/// first round, each work is done twice.
std::vector<std::vector<double>> timeInTurn(const std::vector<TimedWork> &contestants,
                                            const TurnSettings &settings);

/// `values` must not be empty.
double median(std::vector<double> values);

} // namespace updraft::harness

#endif // UPDRAFT_TOOLS_HARNESS_TURNS_H
