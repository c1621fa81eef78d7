//===- TorchPeer.h - PyTorch, measured in the same run ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_TORCHPEER_H
#define UPDRAFT_TOOLS_BENCH_TORCHPEER_H

#include "Race.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <sys/types.h>
#include <vector>

namespace updraft::bench {

/// A Python process that steps torch.optim on command and times itself, so that its steps alternate
/// with ours. Throws std::runtime_error where the process fails.
class TorchPeer {
public:
  /// `python` has torch installed; `script` is torch_peer.py.
  TorchPeer(const std::string &python, const std::string &script, int threads);
  ~TorchPeer();
  TorchPeer(const TorchPeer &) = delete;
  TorchPeer &operator=(const TorchPeer &) = delete;

  /// Contestants for torch.optim's `optimizer` with `arguments` (a JSON object), one for each of
  /// its implementations that exist. Valid until the next call of drop().
  std::vector<Contestant> contestants(const std::string &optimizer, const std::string &arguments,
                                      const std::string &dtype, int64_t tensors, int64_t elements);
  /// The same on sparse gradients of `listed` rows of one matrix, in `lists` lists that take turns.
  Contestant sparse(const std::string &optimizer, const std::string &arguments, int64_t rows,
                    int64_t columns, int64_t listed, size_t lists);
  /// Frees the tensors of all contestants.
  void drop();

private:
  std::string ask(const std::string &command);

  pid_t process = -1;
  FILE *toPeer = nullptr;
  FILE *fromPeer = nullptr;
};

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_TORCHPEER_H
