//===- StepGradients.h - The gradients of a step ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_STEPGRADIENTS_H
#define UPDRAFT_RUNTIME_OPTIMIZER_STEPGRADIENTS_H

#include "updraft-c/optimizer.h"

namespace updraft::runtime {

/// The gradients of one step, as the C API takes them: of whole parameters, in one of two forms,
/// and of some rows. The caller owns all memory.
struct StepGradients {
  const upd_tensor *tensors = nullptr;    ///< by parameter
  const void *const *addresses = nullptr; ///< by parameter, in place of `tensors`
  size_t count = 0;                       ///< length of `tensors` or `addresses`
  const upd_row_grad *rows = nullptr;
  size_t rowCount = 0;
  /// False if only gradients of rows are given.
  bool hasWhole = true;

  /// From the arguments of upd_optimizer_step_rows.
  static StepGradients withRows(const upd_tensor *grads, size_t gradCount,
                                const upd_row_grad *rowGrads, size_t rowGradCount) {
    return {.tensors = gradCount != 0 ? grads : nullptr,
            .count = gradCount,
            .rows = rowGrads,
            .rowCount = rowGradCount,
            .hasWhole = gradCount != 0};
  }

  /// Whether a parameter has a gradient that isn't one of rows.
  bool has(size_t param) const {
    if (param >= count)
      return false;
    return tensors ? tensors[param].rank != UPD_ABSENT : addresses && addresses[param];
  }
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_STEPGRADIENTS_H
