//===- TransformTable.h - The shipped transforms around a rule ----------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_TRANSFORMTABLE_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_TRANSFORMTABLE_H

#include <string>

namespace updraft::differential {

/// Every transform of the library in a chain with a rule, which is written `@`. The arguments make
/// a difference to gradients of the size that these tests have.
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

/// The chain with the rule's name in its place.
inline std::string around(std::string chain, const std::string &rule) {
  return chain.replace(chain.find('@'), 1, rule);
}

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_TRANSFORMTABLE_H
