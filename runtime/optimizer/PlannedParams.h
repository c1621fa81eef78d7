//===- PlannedParams.h - The parameters that a step runs over -----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_PLANNEDPARAMS_H
#define UPDRAFT_RUNTIME_OPTIMIZER_PLANNEDPARAMS_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace updraft::runtime {

/// The parameters with a gradient in the plan of a step, and their positions in the lists of the
/// rule's plans.
class PlannedParams {
public:
  static constexpr uint32_t absent = ~uint32_t(0);

  /// The position of a parameter in its list, or `absent`.
  uint32_t positionOf(size_t param) const { return positions[param]; }
  /// Whether the plan has a parameter. Allowed before the first step.
  bool contains(size_t param) const {
    return param < positions.size() && positions[param] != absent;
  }

  /// Whether the plan is usable and has exactly the parameters whose gradient is not null.
  bool isOf(std::span<const void *const> gradients) const {
    bool same = accepted;
    for (size_t i = 0; i < positions.size(); ++i)
      same &= (gradients[i] != nullptr) == (positions[i] != absent);
    return same;
  }

  /// Whether the plan is that of the last step. Preparing another one discards it until `apply`.
  bool usable() const { return accepted; }
  void accept() { accepted = true; }
  void discard() { accepted = false; }

  /// Discards the plan, and marks all of the optimizer's parameters as absent.
  void clearPositions(size_t paramCount) {
    accepted = false;
    positions.assign(paramCount, absent);
  }
  void setPosition(size_t param, uint32_t position) { positions[param] = position; }

private:
  std::vector<uint32_t> positions;
  bool accepted = false;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_PLANNEDPARAMS_H
