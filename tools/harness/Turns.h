//===- Turns.h - Timing contestants in turn -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_HARNESS_TURNS_H
#define UPDRAFT_TOOLS_HARNESS_TURNS_H

#include <functional>
#include <vector>

namespace updraft::harness {

/// Does a work `count` times and returns the time that one took, in a unit of the caller's.
using TimedWork = std::function<double(int count)>;

struct TurnSettings {
  int rounds;
  double least;                             ///< the time of a turn: a shorter work is repeated
  int mostRepeats;                          ///< in a turn
  std::function<void()> beforeTurn = [] {}; ///< is not timed
};

/// Runs the contestants A B C, A B C, … and returns the times of each, one for each round. The work
/// of each is done twice before the first round.
std::vector<std::vector<double>> timeInTurn(const std::vector<TimedWork> &contestants,
                                            const TurnSettings &settings);

/// Of at least one value.
double median(std::vector<double> values);

} // namespace updraft::harness

#endif // UPDRAFT_TOOLS_HARNESS_TURNS_H
