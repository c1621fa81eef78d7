//===- Turns.cpp - Timing contestants in turns ------------------------------------------------===//

#include "tools/harness/Turns.h"

#include <algorithm>
#include <cmath>

using namespace updraft;

std::vector<std::vector<double>> harness::timeInTurn(const std::vector<TimedWork> &contestants,
                                                     const TurnSettings &settings) {
  std::vector<int> repeats;
  for (const TimedWork &work : contestants) {
    work(1);
    const double once = std::max(work(1), 1e-9);
    const double count = std::ceil(settings.least / once);
    repeats.push_back(static_cast<int>(std::clamp<double>(count, 1, settings.mostRepeats)));
  }
  std::vector<std::vector<double>> times(contestants.size());
  for (int round = 0; round < settings.rounds; ++round)
    for (size_t i = 0; i < contestants.size(); ++i) {
      settings.beforeTurn();
      if (repeats[i] > 1)
        contestants[i](1); // excludes waking up from short works
      times[i].push_back(contestants[i](repeats[i]));
    }
  return times;
}

double harness::median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}
