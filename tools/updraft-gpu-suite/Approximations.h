//===- Approximations.h - The numerics mode `fast` on a device ----------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_APPROXIMATIONS_H
#define UPDRAFT_TOOLS_GPUSUITE_APPROXIMATIONS_H

#include "Device.h"
#include "Values.h"
#include "tools/harness/Optimizer.h"

namespace updraft::suite {

/// An operation that a GPU approximates in the mode `fast`, and its error bound.
struct Approximation {
  const char *name;
  const char *rule;                  ///< a rule of f32 whose new parameter is the result
  double (*exact)(float x, float y); ///< the arguments are a parameter and its gradient
  double units;                      ///< bound in units in the last place of the exact result
};

/// The table of docs/numerics.md, "Approximations of GPUs".
const std::vector<Approximation> &approximations();

/// Compares with the exact results for `count` pairs of floats of all magnitudes and kinds.
nlohmann::ordered_json isWithinBound(Device &device, const Approximation &approximation,
                                     int64_t count);

/// Steps in the mode `fast` on the CPU, which rounds to nearest, and on the device. The parameters
/// must be as close as docs/numerics.md says for `fast` and `ieee`.
nlohmann::ordered_json fastStepsAgree(Device &device, harness::RuleRequest request,
                                      const std::vector<TensorShape> &shapes);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_APPROXIMATIONS_H
