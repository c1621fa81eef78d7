//===- Replay.h - Repeats recorded steps --------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_REPLAY_REPLAY_H
#define UPDRAFT_UNITTESTS_REPLAY_REPLAY_H

#include <cstddef>
#include <string>

namespace updraft::replay {

/// The size of the comparisons, over all recordings.
struct Compared {
  size_t recordings = 0, samples = 0, tensors = 0, elements = 0;
};

/// Repeats the steps of a recording (unittests/Differential/Recording.h) with the code for each
/// target of its package that this machine runs, or for `target` alone, and verifies the package.
/// Every bit of the results must be the same, except those of NaNs. Returns the difference or
/// error, or an empty text.
std::string replay(const std::string &path, const std::string &target, Compared &compared);

} // namespace updraft::replay

#endif // UPDRAFT_UNITTESTS_REPLAY_REPLAY_H
