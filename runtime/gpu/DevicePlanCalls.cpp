//===- DevicePlanCalls.cpp - Functions of matrices in a plan on a device ----------------------===//
// A kernel transposes. The host computes the other functions, as for parameters on the CPU: it
// copies the operands, which waits for the device, and writes the results back. A call whose
// condition doesn't hold costs nothing, if the host can evaluate the condition by itself.

#include "runtime/base/Alignment.h"
#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"
#include "runtime/base/ScalarStorage.h"
#include "runtime/gpu/DevicePlan.h"
#include "runtime/gpu/LaunchUnits.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

using namespace updraft::gpu;
using updraft::runtime::CallInterface;
using updraft::runtime::sizeOf;
using updraft::runtime::StageInterface;
using updraft::runtime::StateArena;
using updraft::runtime::Status;

//===----------------------------------------------------------------------------------------===//
// Transposes
//===----------------------------------------------------------------------------------------===//

void DevicePlan::reserveTranspositions(DeviceArena &tables) {
  transpositions.clear();
  for (const CallInterface &call : plan.calls)
    transpositions.push_back(
        tables.reserve<Transposition>(hasKernel(call.function) ? list.size() : 0));
}

void DevicePlan::fillTranspositions(DeviceArena &tables, const DeviceArena &scratch) {
  for (const StageInterface &stage : plan.sequence) {
    if (stage.kind != StageInterface::Kind::Call || !hasKernel(plan.calls[stage.index].function))
      continue;
    const CallInterface &call = plan.calls[stage.index];
    for (const Window &window : windows) {
      int64_t tiles = 0;
      for (size_t position = window.begin; position < window.end; ++position) {
        const runtime::TensorShape shape = shapeOf(plan, call, list[position].shape);
        Transposition &job = tables.host(transpositions[stage.index])[position];
        job = {tables.at(streamTable, position * plan.streams.size()),
               row(scratch, position),
               stage.condition,
               compute(),
               call.operands[0],
               call.result,
               shape.rows,
               shape.columns,
               shape.batches,
               tiles};
        tiles += job.tiles();
      }
    }
  }
}

Status DevicePlan::launchTransposition(const Step &step, size_t index, Window window) {
  const Transposition *all = step.tables.host(transpositions[index]);
  const Transposition &last = all[window.end - 1];
  return launchUnits(step, step.engine.transpose,
                     step.tables.at(transpositions[index], window.begin), window.end - window.begin,
                     last.firstTile + last.tiles(), 1);
}

//===----------------------------------------------------------------------------------------===//
// Calls of the host
//===----------------------------------------------------------------------------------------===//

size_t DevicePlan::bytesOf(size_t position, uint32_t stream) const {
  return static_cast<size_t>(list[position].shape.count(plan.streams[stream].over)) *
         sizeOf(plan.streams[stream].dtype);
}

/// The bytes of the operands and the result of a tensor on the host.
size_t DevicePlan::hostBytesOf(const CallInterface &call, size_t position) const {
  size_t bytes = runtime::alignedSize(bytesOf(position, call.result));
  for (const uint32_t operand : call.operands)
    bytes += runtime::alignedSize(bytesOf(position, operand));
  return bytes;
}

/// Replaces memory that is too small. Returns whether there is enough.
static bool grow(StateArena &arena, size_t bytes) {
  if (bytes <= arena.size())
    return true;
  arena = StateArena();
  arena = StateArena::allocate(bytes);
  return arena.data() != nullptr;
}

/// Reserves the memory before a step, so that no step fails half-way for want of it.
Status DevicePlan::reserveHostCalls(size_t matrixBytes, const upd_pool &pool) {
  const CallInterface *first = plan.hostCall();
  if (!first)
    return {};
  size_t all = 0, largest = 0;
  for (size_t position = 0; position < list.size(); ++position) {
    workspaceBytes = std::max(workspaceBytes, workspaceOf(plan, list[position].shape));
    for (const CallInterface &call : plan.calls) {
      const size_t bytes = hasKernel(call.function) ? 0 : hostBytesOf(call, position);
      all += bytes;
      largest = std::max(largest, bytes);
    }
  }
  hostThreads = static_cast<size_t>(std::max(pool.thread_count(pool.pool), 1));
  const size_t matrices = std::min(all, std::max(largest, matrixBytes));
  if (grow(hostMatrices, matrices) && grow(hostWorkspaces, hostThreads * workspaceBytes))
    return {};
  return {UPD_OUT_OF_MEMORY,
          fmt::format("no host memory for {} bytes; rule `{}` computes `{}` on the host",
                      matrices + hostThreads * workspaceBytes, kernels->interface.name,
                      nameOf(first->function))};
}

void DevicePlan::restart() {
  nextStage = groupReductionsRun = groupReductionsCombined = 0;
  isRowKnown.assign(list.size(), 0);
}

void DevicePlan::evaluateConditions(DeviceArena &tables, const double *hypers,
                                    const std::vector<KnownProgress> &progress) {
  const upd_prologue_function prologue = kernels->hostPrologues[number];
  // Scalar states, and whether the rule skips a step, are known to the device only.
  if (!prologue || plan.skips || !plan.scalarStates.empty())
    return;
  const runtime::DefaultFloatEnvironment environment;
  std::vector<double> probes(nextScalars());
  for (size_t position = 0; position < list.size(); ++position) {
    const SteppedTensor &tensor = list[position];
    const KnownProgress &known = progress[tensor.param];
    if (!known.isKnown)
      continue;
    double own[UPD_TENSOR_FACTS];
    std::copy_n(tables.host(facts) + position * UPD_TENSOR_FACTS, UPD_TENSOR_FACTS, own);
    own[UPD_TENSOR_STEP] = static_cast<double>(known.steps) + 1;
    own[UPD_TENSOR_FIRST] = known.first;
    prologue(hypers + tensor.group * kernels->interface.hypers.size(), own, nullptr, nullptr,
             hostRows.data() + position * rowBytes(), probes.data());
    isRowKnown[position] = 1;
  }
}

/// Whether the step needs what has a condition. The host must know the tensor's row.
bool DevicePlan::isNeeded(size_t position, uint32_t condition) const {
  const char *row = hostRows.data() + position * rowBytes();
  auto value = [&](size_t index) {
    return runtime::loadScalar(compute(), row + index * sizeOf(compute()));
  };
  return value(0) == 0 && (condition == 0 || value(condition) != 0);
}

/// Runs stages [stage, end), which are independent calls, for the tensors of a window.
Status DevicePlan::runCalls(const Step &step, size_t stage, size_t end, Window window) {
  std::vector<HostCall> needed;
  size_t bytes = 0;
  auto flush = [&] {
    Status status = runHostCalls(step, needed);
    needed.clear();
    bytes = 0;
    return status;
  };
  for (; stage < end; ++stage) {
    const auto [kind, index, byTensor, condition] = plan.sequence[stage];
    const CallInterface &call = plan.calls[index];
    if (hasKernel(call.function)) {
      if (Status status = launchTransposition(step, index, window); !status.ok())
        return status;
      continue;
    }
    for (size_t position = window.begin; position < window.end; ++position) {
      if (!isRowKnown[position]) {
        const size_t count = window.end - window.begin;
        if (Status status =
                step.device.read(hostRows.data() + window.begin * rowBytes(),
                                 row(step.scratch, window.begin), count * rowBytes(), step.stream);
            !status.ok())
          return status;
        std::fill_n(isRowKnown.begin() + static_cast<ptrdiff_t>(window.begin), count, 1);
      }
      if (bytesOf(position, call.result) == 0 || !isNeeded(position, condition))
        continue;
      const size_t own = hostBytesOf(call, position);
      if (bytes + own > hostMatrices.size())
        if (Status status = flush(); !status.ok())
          return status;
      needed.push_back({&call, position});
      bytes += own;
    }
  }
  return flush();
}

/// Runs calls whose matrices are in the host's memory at once.
Status DevicePlan::runHostCalls(const Step &step, std::span<const HostCall> calls) {
  struct Job {
    const HostCall *of;
    std::array<const void *, 2> operands;
    void *result;
    int64_t batch;
  };
  std::vector<Job> jobs;
  char *next = hostMatrices.data();
  auto take = [&](size_t position, uint32_t stream) {
    return std::exchange(next, next + runtime::alignedSize(bytesOf(position, stream)));
  };
  for (const HostCall &each : calls) {
    const auto [call, position] = each;
    std::array<const void *, 2> operands = {};
    for (size_t i = 0; i < call->operands.size(); ++i) {
      void *copy = take(position, call->operands[i]);
      operands[i] = copy;
      if (Status status = step.device.read(copy, stream(position, call->operands[i]),
                                           bytesOf(position, call->operands[i]), step.stream);
          !status.ok())
        return status;
    }
    void *result = take(position, call->result);
    for (int64_t batch = 0; batch < list[position].shape.batches; ++batch)
      jobs.push_back({&each, operands, result, batch});
  }
  const runtime::DefaultFloatEnvironment environment;
  const size_t parts = std::min(hostThreads, jobs.size());
  runtime::forParts(step.pool, parts, 1, [&](size_t firstPart, size_t lastPart) {
    for (size_t part = firstPart; part < lastPart; ++part)
      for (size_t i = part; i < jobs.size(); i += parts) {
        const auto &[of, operands, result, batch] = jobs[i];
        runtime::run(callOf(plan, *of->call, list[of->position].shape, batch, operands, result,
                            hostWorkspaces.data() + part * workspaceBytes),
                     lapack);
      }
  });
  for (const Job &job : jobs)
    if (job.batch == 0)
      if (Status status =
              step.device.write(stream(job.of->position, job.of->call->result), job.result,
                                bytesOf(job.of->position, job.of->call->result), step.stream);
          !status.ok())
        return status;
  return {};
}
