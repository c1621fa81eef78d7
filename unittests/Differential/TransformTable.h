//===- TransformTable.h - The shipped transforms around a rule ----------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_TRANSFORMTABLE_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_TRANSFORMTABLE_H

#include <string>

namespace updraft::differential {

/// Every library transform in a chain with a rule, which is written as `@`. The arguments have an
/// effect on gradients of the size in these tests.
inline constexpr const char *transformChains[] = {"accumulate(2) |> @",
                                                  "adaptive_grad_clip(0.1) |> @",
                                                  "add_decayed_weights(0.05) |> @",
                                                  "add_noise(0.1) |> @",
                                                  "@ |> cautious()",
                                                  "centralize() |> @",
                                                  "clip_by_block_rms(0.5) |> @",
                                                  "clip_by_global_norm(3) |> @",
                                                  "clip_by_value(0.5) |> @",
                                                  "@ |> ema_of_weights(0.9)",
                                                  "@ |> lookahead(2)",
                                                  "master_copy() |> @",
                                                  "unscale(0.5) |> @"};

/// Replaces `@` in the chain with the rule's name.
inline std::string around(std::string chain, const std::string &rule) {
  return chain.replace(chain.find('@'), 1, rule);
}

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_TRANSFORMTABLE_H
