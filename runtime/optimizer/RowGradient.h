//===- RowGradient.h - Gradients of some rows ---------------------------------------*- C++ -*-===//
// A row consists of the elements at one index into a parameter's first dimensions.

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_ROWGRADIENT_H
#define UPDRAFT_RUNTIME_OPTIMIZER_ROWGRADIENT_H

#include "runtime/base/RuleInterface.h"
#include "runtime/optimizer/TensorLayout.h"
#include "updraft-c/optimizer.h"

#include <string>

namespace updraft::runtime {

/// Returns why the plan can't be applied to single rows, as in "it reduces over whole tensors".
/// Empty if it can.
std::string rowsRefusal(const RuleInterface &rule, const PlanInterface &plan);
/// Whether rows must be those of a matrix, because the plan works on rows and columns.
bool rowsNeedMatrix(const PlanInterface &plan);

/// The number of rows of the whole parameter.
int64_t rowsOf(const upd_row_grad &rowGrad, const TensorLayout &layout);
int64_t elementsOfRow(const upd_row_grad &rowGrad, const TensorLayout &layout);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_ROWGRADIENT_H
