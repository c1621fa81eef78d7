//===- Staleness.h - Gradients of old parameters ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_STALENESS_H
#define UPDRAFT_RUNTIME_SERVER_STALENESS_H

#include "runtime/server/GradientContext.h"
#include "runtime/server/Parameters.h"
#include "updraft/worker/v1/worker.pb.h"

#include <cstddef>
#include <map>
#include <vector>

namespace updraft::server {

/// The gradients of a step, of which some may be scaled because they are old (Staleness in
/// worker.proto).
class LimitedGradients {
public:
  /// Called with the parameters' locks held. Throws Stale, or ResourceExhausted. `gradients` must
  /// outlive this.
  LimitedGradients(const std::map<size_t, SummedGradient> &gradients, const Parameters &parameters,
                   const worker::v1::Staleness &staleness, Budget &budget);

  const std::map<size_t, SummedGradient> &byParam() const { return scaled.empty() ? given : all; }

private:
  const std::map<size_t, SummedGradient> &given;
  std::map<size_t, SummedGradient> all; ///< if some are scaled
  Budget::Reservation rows;             ///< for the lists of rows in `all`
  std::vector<Tensor> scaled;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_STALENESS_H
