//===- MatrixMemory.h - Memory for matrices between the stages of a plan ------------*- C++ -*-===//
// A plan with products or calls makes matrices as large as a parameter. Tensors whose stages run
// one after the other use the same memory for them.

#ifndef UPDRAFT_RUNTIME_CPU_MATRIXMEMORY_H
#define UPDRAFT_RUNTIME_CPU_MATRIXMEMORY_H

#include "runtime/base/PlanInterface.h"
#include "runtime/base/TensorShape.h"
#include "runtime/matrix/MatrixCall.h"
#include "runtime/optimizer/StateArena.h"

#include <array>
#include <vector>

namespace updraft::runtime {

/// The rows and columns of a call for a tensor, as in MatrixCall.
TensorShape shapeOf(const PlanInterface &plan, const CallInterface &call,
                    const TensorShape &tensor);

/// The call for one batch of a tensor. The matrices of all its batches start at `operands` and
/// `result`.
MatrixCall callOf(const PlanInterface &plan, const CallInterface &call, const TensorShape &tensor,
                  int64_t batch, const std::array<const void *, 2> &operands, void *result,
                  void *workspace);

/// Returns the bytes of workspace of the plan's calls for a tensor.
size_t workspaceOf(const PlanInterface &plan, const TensorShape &tensor);

/// Makes `arena` at least `bytes` large, without what was in it. Throws OutOfMemory.
void grow(StateArena &arena, size_t bytes, const char *purpose);

/// The matrices of one tensor at a time, and for some threads the packed operands of products and
/// the workspace of calls.
class MatrixMemory {
public:
  explicit MatrixMemory(const PlanInterface &plan) : plan(plan) {}

  /// Makes room for the matrices of a tensor of `bytes`, and for `threads` that each need
  /// `workspace` bytes for calls. Throws OutOfMemory.
  void reserve(size_t bytes, size_t workspace, size_t threads);
  /// The memory for the matrices, at the offsets of a MatrixLayout.
  char *data() const { return matrices.data(); }
  /// The memory for the packed operands of a thread.
  void *operands(size_t thread) const { return packed.data() + thread * UPD_PRODUCT_WORKSPACE; }

  /// The workspace for the calls of a thread.
  void *workspace(size_t thread) const { return calls.data() + thread * workspaceBytes; }

private:
  const PlanInterface &plan;
  StateArena matrices, packed, calls;
  size_t workspaceBytes = 0; // of a thread
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_MATRIXMEMORY_H
