//===- PythonPeer.h - Contestants in a Python process -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_PYTHONPEER_H
#define UPDRAFT_TOOLS_BENCH_PYTHONPEER_H

#include "Race.h"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace updraft::bench {

/// What a Python process steps.
struct PeerSetup {
  std::string optimizer; ///< its class: `AdamW`
  std::string arguments; ///< a JSON object
  std::string dtype = "f32";
  int64_t tensors = 1;
  int64_t elements = 1; ///< of each tensor
  bool fresh = false;   ///< gradients come from a backward before each step, which is not timed
};

/// A Python process that steps optimizers on command and times itself, so that its steps alternate
/// with others. Throws std::runtime_error where the process fails.
class PythonPeer {
public:
  /// `script` is one of `python/`, whose further arguments are `more`; `python` has what it
  /// imports.
  PythonPeer(const std::string &python, const std::string &script, int threads,
             const std::vector<std::string> &more = {});
  ~PythonPeer();
  PythonPeer(const PythonPeer &) = delete;
  PythonPeer &operator=(const PythonPeer &) = delete;

  /// Whether the process has what it steps; false if a package is not installed.
  bool available() const { return isAvailable; }

  /// An implementation as contestant `name`: `updraft`, `for-loop`, `foreach`, `fused`, `compile`,
  /// `optax`; none if there is no such one of the optimizer. Valid until the next call of drop().
  std::optional<Contestant> contestant(const std::string &name, const std::string &implementation,
                                       const PeerSetup &setup);
  /// Those of torch.optim that need no compiler and exist.
  std::vector<Contestant> torchContestants(const PeerSetup &setup);
  /// On sparse gradients of `listed` rows of one matrix, in `lists` lists that take turns.
  Contestant sparse(const std::string &optimizer, const std::string &arguments, int64_t rows,
                    int64_t columns, int64_t listed, size_t lists);
  /// The limit of the memory that the contestant made last steps, which is one tensor; `library` is
  /// what LimitLibrary.cpp makes.
  Contestant limit(const std::string &library, const std::string &dtype);
  /// Frees the tensors of all contestants.
  void drop();

private:
  std::string ask(const std::string &command);
  Contestant running(const std::string &name, const std::string &dtype, const std::string &number);

  pid_t process = -1;
  FILE *toPeer = nullptr;
  FILE *fromPeer = nullptr;
  bool isAvailable = false;
};

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_PYTHONPEER_H
