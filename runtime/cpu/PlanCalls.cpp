//===- PlanCalls.cpp - Functions of matrices in a plan ----------------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"
#include "runtime/cpu/PlanRun.h"
#include "runtime/matrix/MatrixCall.h"

#include <algorithm>

using namespace updraft::runtime;

/// Runs consecutive calls for all tensors of the window. Threads share the matrices, unless they
/// have windows of their own. Allocates nothing, because a thread of the pool must not throw.
void PlanRun::runCalls(const Walk &walk, size_t end) const {
  auto forMatrices = [&](auto visit) {
    for (size_t position = walk.tensors.begin; position < walk.tensors.end; ++position)
      for (size_t stage = walk.stage; stage < end; ++stage)
        if (isNeeded(position, plan.sequence[stage].condition))
          for (int64_t batch = 0; batch < shapes[position].batches; ++batch)
            visit(plan.calls[plan.sequence[stage].index], position, batch);
  };
  size_t count = 0;
  forMatrices([&](const CallInterface &, size_t, int64_t) { ++count; });
  const size_t parts = walk.isOwn ? 1 : std::min(sharedThreads, count);
  forParts(walk.step.pool, parts, 1, [&](size_t firstPart, size_t lastPart) {
    for (size_t part = firstPart; part < lastPart; ++part) {
      size_t number = 0;
      forMatrices([&](const CallInterface &call, size_t position, int64_t batch) {
        if (number++ % parts == part)
          runCall(call, position, batch, walk.memory->workspace(part));
      });
    }
  });
}

void PlanRun::runCall(const CallInterface &call, size_t position, int64_t batch,
                      void *workspace) const {
  const timeline::Span span("call", [&](timeline::Event &event) {
    event.name(plan.prefix, " ", nameOf(call.function));
    event.number("elements", shapeOf(plan, call, shapes[position]).elements());
    event.number("parameter", list[position].param);
  });
  std::array<const void *, 2> operands = {};
  for (size_t i = 0; i < call.operands.size(); ++i)
    operands[i] = stream(position, call.operands[i]);
  runtime::run(callOf(plan, call, shapes[position], batch, operands, stream(position, call.result),
                      workspace),
               lapack);
}

/// Returns about as many fused multiply-adds as take the time of a call of one tensor.
int64_t PlanRun::operationsOf(const CallInterface &call, size_t position) const {
  const TensorShape shape = shapeOf(plan, call, shapes[position]);
  if (!needsLapack(call.function))
    return shape.elements();
  const bool isOfEigenvalues =
      call.function == MatrixFunction::Eigenvectors || call.function == MatrixFunction::Eigenvalues;
  return shape.elements() * shape.rows * (isOfEigenvalues ? 20 : 3);
}
