//===- DeviceOptimizerCounts.cpp - Step counts in a device's memory ---------------------------===//

#include "runtime/gpu/DeviceOptimizer.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace updraft::gpu;
using namespace updraft::runtime;

double *DeviceOptimizer::countOf(size_t param) const {
  return reinterpret_cast<double *>(progress.memory.data()) + param;
}

double *DeviceOptimizer::firstOf(size_t param) const { return countOf(params.size() + param); }

/// Writes the host's step counts of all parameters, and whether they have states.
Status DeviceOptimizer::writeProgress(Stream setup) {
  const size_t count = params.size();
  std::vector<double> values(2 * count);
  for (size_t i = 0; i < count; ++i) {
    progress.firsts[i] = ownsStates(i) ? !hasStates(i) : progress.steps[i] == 0;
    values[i] = static_cast<double>(progress.steps[i]);
    values[count + i] = progress.firsts[i];
  }
  return gpu->write(progress.memory.data(), values.data(), values.size() * sizeof(double), setup);
}

Status DeviceOptimizer::writeFirst(size_t param) {
  progress.firsts[param] = ownsStates(param) ? !hasStates(param) : progress.steps[param] == 0;
  if (!progress.memory.data())
    return {};
  const double first = progress.firsts[param];
  return gpu->write(firstOf(param), &first, sizeof(first), stream);
}

Status DeviceOptimizer::readProgress() {
  const size_t count = params.size();
  // A graph increases the counts at each replay.
  if ((progress.isKnown && captured.empty()) || !progress.memory.data())
    return {};
  std::vector<double> values(2 * count);
  if (Status status =
          readMemory(values.data(), progress.memory.data(), values.size() * sizeof(double));
      !status.ok())
    return status;
  for (size_t i = 0; i < count; ++i) {
    if (!boundCounts[i].data)
      progress.steps[i] = static_cast<int64_t>(values[i]);
    progress.firsts[i] = values[count + i] != 0;
  }
  progress.isKnown = true;
  return {};
}

/// Reads the bound counts of the parameters [begin, end), because their owner may have changed
/// them. Contiguous counts, like torch's, are read at once, because each read waits.
Status DeviceOptimizer::readBoundCounts(size_t begin, size_t end) {
  std::vector<char> elements;
  while (begin < end) {
    const BoundCount &first = boundCounts[begin];
    if (!first.data) {
      ++begin;
      continue;
    }
    const size_t bytes = sizeOf(first.dtype);
    auto continues = [&](size_t param) {
      return boundCounts[param].dtype == first.dtype &&
             boundCounts[param].data == static_cast<char *>(first.data) + (param - begin) * bytes;
    };
    size_t next = begin + 1;
    while (next < end && continues(next))
      ++next;
    elements.resize((next - begin) * bytes);
    if (Status status = readMemory(elements.data(), first.data, elements.size()); !status.ok())
      return status;
    for (const char *element = elements.data(); begin < next; ++begin, element += bytes) {
      const double steps = loadExact(boundCounts[begin].dtype, element);
      if (!(steps >= 0 && steps <= static_cast<double>(maxStep) && steps == std::floor(steps)))
        return invalidArgument(fmt::format("the step count of parameter `{}` is {}; it is a whole "
                                           "number from 0 to 2^53",
                                           names[begin], steps));
      progress.steps[begin] = static_cast<int64_t>(steps);
    }
  }
  return {};
}

Status DeviceOptimizer::replaceSteps(std::vector<int64_t> counts) {
  progress.steps = std::move(counts);
  progress.isKnown = true;
  pending.clear();
  std::fill(isPending.begin(), isPending.end(), 0);
  for (size_t i = 0; i < params.size(); ++i)
    if (boundCounts[i].data)
      if (Status status = writeCount(i); !status.ok())
        return status;
  return progress.memory.data() ? writeProgress(stream) : Status();
}

/// Writes the count to the memory where the device increases it.
Status DeviceOptimizer::writeCount(size_t param) {
  const BoundCount &bound = boundCounts[param];
  if (!bound.data && !progress.memory.data())
    return {};
  const upd_dtype dtype = bound.data ? bound.dtype : UPD_F64;
  double element = 0;
  storeRounded(dtype, static_cast<double>(progress.steps[param]), &element);
  return gpu->write(bound.data ? bound.data : countOf(param), &element, sizeOf(dtype), stream);
}

Status DeviceOptimizer::getStep(size_t param, int64_t &step) {
  if (Status status = checkParam(param); !status.ok())
    return status;
  if (Status status = readProgress(); !status.ok())
    return status;
  if (Status status = readBoundCounts(param, param + 1); !status.ok())
    return status;
  step = progress.steps[param];
  return {};
}

Status DeviceOptimizer::getSteps(int64_t *result, size_t count) {
  if (Status status = checkAskedSteps(count); !status.ok())
    return status;
  if (Status status = readProgress(); !status.ok())
    return status;
  if (Status status = readBoundCounts(0, count); !status.ok())
    return status;
  std::copy(progress.steps.begin(), progress.steps.end(), result);
  return {};
}

Status DeviceOptimizer::setStep(size_t param, int64_t step) {
  if (Status status = checkParam(param); !status.ok())
    return status;
  if (Status status = checkStepCount(step); !status.ok())
    return status;
  if (Status status = settleStates(); !status.ok())
    return status;
  if (Status status = readProgress(); !status.ok())
    return status;
  prepared = Prepared::Nothing;
  auto write = [&](int64_t count) {
    progress.steps[param] = count;
    Status status = writeCount(param);
    return status.ok() ? writeFirst(param) : status;
  };
  const int64_t before = progress.steps[param];
  Status status = write(step);
  if (!status.ok())
    (void)write(before); // the first error is reported
  return status;
}

Status DeviceOptimizer::bindStep(size_t param, const upd_tensor &count) {
  if (Status status = checkParam(param); !status.ok())
    return status;
  const std::string subject = fmt::format("the step count of parameter `{}`", names[param]);
  if (count.dtype != UPD_F32 && count.dtype != UPD_F64)
    return invalidArgument(
        fmt::format("{} is neither f32 nor f64; give a number of one of these types", subject));
  if (Status status = checkNumber(count, subject); !status.ok())
    return status;
  if (count.read_only)
    return invalidArgument(
        fmt::format("{} is read-only, but a step writes it; give a copy that is not", subject));
  const MemoryRange range(count.data, sizeOf(count.dtype), static_cast<uint32_t>(param), 0);
  if (const MemoryRange *owner = owned.find(range))
    return invalidArgument(fmt::format("{} overlaps {}; give it memory of its own", subject,
                                       ownerText(*owner, range)));
  if (Status status = settleStates(); !status.ok())
    return status;
  const BoundCount before = boundCounts[param];
  const int64_t stepsBefore = progress.steps[param];
  const char firstBefore = progress.firsts[param];
  boundCounts[param] = {count.data, count.dtype};
  if (Status status = readBoundCounts(param, param + 1); !status.ok()) {
    boundCounts[param] = before;
    return status;
  }
  discardPlan();
  Status status = writeFirst(param);
  if (!status.ok()) {
    boundCounts[param] = before;
    progress.steps[param] = stepsBefore;
    progress.firsts[param] = firstBefore;
  }
  return status;
}
