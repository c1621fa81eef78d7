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

/// The optimizer and tensors of a Python process.
struct PeerSetup {
  std::string optimizer; ///< class name: `AdamW`
  std::string arguments; ///< a JSON object
  std::string dtype = "f32";
  int64_t tensors = 1;
  int64_t elements = 1; ///< of each tensor
  /// Matrices in place of `tensors` and `elements`: `12*768x3072,24*768x768`.
  std::string shapes = {};
  bool fresh = false; ///< an untimed backward computes new gradients before each step
};

/// A Python process that steps optimizers on command and measures the time itself, so that its
/// steps can alternate with others. Throws std::runtime_error if the process fails.
class PythonPeer {
public:
  /// `script` is a file of `python/`, and `more` has its further arguments. `python` is an
  /// interpreter with the packages that the script imports.
  PythonPeer(const std::string &python, const std::string &script, int threads,
             const std::vector<std::string> &more = {});
  ~PythonPeer();
  PythonPeer(const PythonPeer &) = delete;
  PythonPeer &operator=(const PythonPeer &) = delete;

  /// Whether the process can step; false if a package isn't installed.
  bool available() const { return isAvailable; }

  /// The contestant `name` for an implementation: `updraft`, `for-loop`, `foreach`, `fused`,
  /// `compile`, `f32-products`, `pytorch-optimizer` or `optax`. Empty if the optimizer doesn't have
  /// that implementation. Valid until the next call of drop().
  std::optional<Contestant> contestant(const std::string &name, const std::string &implementation,
                                       const PeerSetup &setup);
  /// All implementations of torch.optim that exist and don't need a compiler.
  std::vector<Contestant> torchContestants(const PeerSetup &setup);
  /// Steps sparse gradients of `listed` rows of one matrix, alternating between `lists` lists of
  /// rows.
  Contestant sparse(const std::string &optimizer, const std::string &arguments, int64_t rows,
                    int64_t columns, int64_t listed, size_t lists);
  /// The memory limit for the tensors of the last contestant, which must have one parameter.
  /// `library` is the path of the library of LimitLibrary.cpp.
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
