//===- MatrixMemory.cpp - Memory for matrices between the stages of a plan --------------------===//

#include "runtime/cpu/MatrixMemory.h"

#include "runtime/base/Alignment.h"
#include "runtime/base/DType.h"
#include "runtime/base/OutOfMemory.h"

#include <algorithm>

using namespace updraft::runtime;

TensorShape updraft::runtime::shapeOf(const PlanInterface &plan, const CallInterface &call,
                                      const TensorShape &tensor) {
  const int operand = shapedBy(call.function);
  const uint32_t shaped = operand < 0 ? call.result : call.operands[static_cast<size_t>(operand)];
  const Extent over = plan.streams[shaped].over;
  if (call.function == MatrixFunction::Largest)
    return {tensor.batches, over == Extent::Row ? tensor.rows : tensor.columns, 1};
  return tensor.of(over);
}

MatrixCall updraft::runtime::callOf(const PlanInterface &plan, const CallInterface &call,
                                    const TensorShape &tensor, int64_t batch,
                                    const std::array<const void *, 2> &operands, void *result,
                                    void *workspace) {
  auto offsetOf = [&](uint32_t stream) {
    const int64_t perBatch = tensor.count(plan.streams[stream].over) / tensor.batches;
    return static_cast<size_t>(batch * perBatch) * sizeOf(plan.streams[stream].dtype);
  };
  const TensorShape shape = shapeOf(plan, call, tensor);
  MatrixCall made{call.function,
                  plan.streams[call.result].dtype,
                  shape.rows,
                  shape.columns,
                  tensor.chosen,
                  {nullptr, nullptr},
                  static_cast<char *>(result) + offsetOf(call.result),
                  workspace};
  for (size_t i = 0; i < call.operands.size(); ++i)
    made.operands[i] = static_cast<const char *>(operands[i]) + offsetOf(call.operands[i]);
  return made;
}

size_t updraft::runtime::workspaceOf(const PlanInterface &plan, const TensorShape &tensor) {
  size_t bytes = 0;
  for (const CallInterface &call : plan.calls) {
    const TensorShape matrix = shapeOf(plan, call, tensor);
    bytes = std::max(bytes, workspaceOf(call.function, matrix.rows, matrix.columns));
  }
  return alignedSize(bytes);
}

void updraft::runtime::grow(StateArena &arena, size_t bytes, const char *purpose) {
  if (bytes <= arena.size())
    return;
  arena = StateArena();
  StateArena larger = StateArena::allocate(bytes);
  if (!larger.data())
    throw OutOfMemory(bytes, purpose);
  arena = std::move(larger);
}

void MatrixMemory::reserve(size_t bytes, size_t workspace, size_t threads) {
  grow(matrices, bytes, "matrices that a step makes of one parameter");
  if (!plan.products.empty())
    grow(packed, threads * UPD_PRODUCT_WORKSPACE, "operands of products");
  workspaceBytes = std::max(workspaceBytes, workspace);
  grow(calls, threads * workspaceBytes, "workspace for functions of matrices");
}
