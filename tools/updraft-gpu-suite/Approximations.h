//===- Approximations.h - The numerics mode `fast` on a device ----------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_APPROXIMATIONS_H
#define UPDRAFT_TOOLS_GPUSUITE_APPROXIMATIONS_H

#include "Device.h"
#include "Values.h"
#include "tools/harness/Optimizer.h"

namespace updraft::suite {

/// An operation that a GPU approximates in `fast`, and how far off it may be.
struct Approximation {
  const char *name;
  const char *rule;                  ///< of f32, whose parameter becomes the result
  double (*exact)(float x, float y); ///< of a parameter and its gradient
  double units;                      ///< in the last place of the exact result
};

/// The table of docs/numerics.md, "Approximations of GPUs".
const std::vector<Approximation> &approximations();

/// Compares with the exact results of `count` pairs of floats, of all magnitudes and kinds.
nlohmann::ordered_json isWithinBound(Device &device, const Approximation &approximation,
                                     int64_t count);

/// Steps in `fast` on the CPU, which rounds to nearest, and on the device: parameters stay as close
/// as docs/numerics.md says of `fast` and `ieee`.
nlohmann::ordered_json fastStepsAgree(Device &device, harness::RuleRequest request,
                                      const std::vector<TensorShape> &shapes);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_APPROXIMATIONS_H
