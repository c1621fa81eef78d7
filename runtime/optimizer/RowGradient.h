//===- RowGradient.h - Gradients of some rows ---------------------------------------*- C++ -*-===//
// A row is what lies behind one index of the first dimensions of a parameter.

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_ROWGRADIENT_H
#define UPDRAFT_RUNTIME_OPTIMIZER_ROWGRADIENT_H

#include "runtime/base/RuleInterface.h"
#include "runtime/optimizer/TensorLayout.h"
#include "updraft-c/optimizer.h"

#include <string>

namespace updraft::runtime {

/// Why the plan cannot be applied to some rows alone: "it reduces over whole tensors". Empty if it
/// can.
std::string rowsRefusal(const RuleInterface &rule, const PlanInterface &plan);
/// The plan works on rows and columns: a row is one of a matrix, not of a tensor.
bool rowsNeedMatrix(const PlanInterface &plan);

/// How many rows the whole parameter has.
int64_t rowsOf(const upd_row_grad &rowGrad, const TensorLayout &layout);
int64_t elementsOfRow(const upd_row_grad &rowGrad, const TensorLayout &layout);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_ROWGRADIENT_H
