//===- LaunchUnits.h - Launches over the units of several jobs ----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GPU_LAUNCHUNITS_H
#define UPDRAFT_RUNTIME_GPU_LAUNCHUNITS_H

#include "runtime/gpu/DevicePlan.h"

namespace updraft::gpu {

/// Launches a kernel over the units that jobs have in all. Does nothing if there are none.
template <typename Job>
runtime::Status launchUnits(const DevicePlan::Step &step, Kernel kernel, Job *jobs, size_t jobCount,
                            int64_t units, size_t unitsOfBlock) {
  if (units == 0)
    return {};
  auto count = static_cast<int64_t>(jobCount);
  void *arguments[] = {&jobs, &count, &units};
  return step.device.launch(kernel, step.device.blocksFor(static_cast<size_t>(units), unitsOfBlock),
                            arguments, step.stream);
}

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_LAUNCHUNITS_H
