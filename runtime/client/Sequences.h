//===- Sequences.h - Numbers of a client's requests ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CLIENT_SEQUENCES_H
#define UPDRAFT_RUNTIME_CLIENT_SEQUENCES_H

#include <cstdint>
#include <mutex>
#include <set>

namespace updraft::dist {

/// Thread-safe.
class Sequences {
public:
  /// The number of a push.
  uint64_t next() {
    const std::lock_guard guard(mutex);
    return ++last;
  }
  /// The number of a step, whose answer workers keep until `endStep`.
  uint64_t beginStep() {
    const std::lock_guard guard(mutex);
    return *steps.insert(++last).first;
  }
  void endStep(uint64_t sequence) {
    const std::lock_guard guard(mutex);
    steps.erase(sequence);
  }
  /// No step below this number is repeated any more.
  uint64_t answered() {
    const std::lock_guard guard(mutex);
    return steps.empty() ? last + 1 : *steps.begin();
  }

private:
  std::mutex mutex;
  uint64_t last = 0;
  std::set<uint64_t> steps; ///< the unanswered ones
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_CLIENT_SEQUENCES_H
