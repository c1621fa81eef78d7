//===- PlanCalls.cpp - Functions of matrices in a plan ----------------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"
#include "runtime/cpu/PlanRun.h"
#include "runtime/matrix/MatrixCall.h"

#include <algorithm>

using namespace updraft::runtime;

/// Returns the end of the calls from `stage` on that can run at once: none makes what another reads
/// or makes.
size_t PlanRun::callsEndFrom(size_t stage) const {
  std::vector<uint32_t> made, read;
  for (; stage < plan.sequence.size(); ++stage) {
    const auto [kind, index, byTensor, condition] = plan.sequence[stage];
    if (kind != StageInterface::Kind::Call)
      break;
    const CallInterface &call = plan.calls[index];
    auto isIn = [](const std::vector<uint32_t> &list, uint32_t stream) {
      return std::find(list.begin(), list.end(), stream) != list.end();
    };
    if (isIn(made, call.result) || isIn(read, call.result) ||
        std::any_of(call.operands.begin(), call.operands.end(),
                    [&](uint32_t operand) { return isIn(made, operand); }))
      break;
    made.push_back(call.result);
    read.insert(read.end(), call.operands.begin(), call.operands.end());
  }
  return stage;
}

/// Runs consecutive calls for all tensors of the window. Threads share the matrices, unless they
/// have windows of their own.
void PlanRun::runCalls(const Walk &walk, size_t end) const {
  struct Job {
    const CallInterface *call;
    size_t position;
    int64_t batch;
  };
  std::vector<Job> jobs;
  for (size_t position = walk.tensors.begin; position < walk.tensors.end; ++position)
    for (size_t stage = walk.stage; stage < end; ++stage)
      if (isNeeded(position, plan.sequence[stage].condition))
        for (int64_t batch = 0; batch < shapes[position].batches; ++batch)
          jobs.push_back({&plan.calls[plan.sequence[stage].index], position, batch});
  const size_t parts = walk.isOwn ? 1 : std::min(sharedThreads, jobs.size());
  forParts(walk.step.pool, parts, 1, [&](size_t firstPart, size_t lastPart) {
    for (size_t part = firstPart; part < lastPart; ++part)
      for (size_t i = part; i < jobs.size(); i += parts)
        runCall(*jobs[i].call, jobs[i].position, jobs[i].batch, walk.memory->workspace(part));
  });
}

void PlanRun::runCall(const CallInterface &call, size_t position, int64_t batch,
                      void *workspace) const {
  auto at = [&](uint32_t stream) {
    const auto [kind, dtype, over, state, scales] = plan.streams[stream];
    const int64_t perBatch = shapes[position].count(over) / shapes[position].batches;
    return static_cast<char *>(this->stream(position, stream)) +
           static_cast<size_t>(batch * perBatch) * sizeOf(dtype);
  };
  const TensorShape shape = shapeOf(plan, call, shapes[position]);
  MatrixCall matrix{
      call.function,           plan.streams[call.result].dtype, shape.rows,      shape.columns,
      shapes[position].chosen, {at(call.operands[0]), nullptr}, at(call.result), workspace};
  if (call.operands.size() == 2)
    matrix.operands[1] = at(call.operands[1]);
  runtime::run(matrix, lapack);
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
