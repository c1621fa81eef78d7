//===- CpuQuota.h - The number of CPUs that the process may use ---------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CPU_CPUQUOTA_H
#define UPDRAFT_RUNTIME_CPU_CPUQUOTA_H

#include <cstdint>
#include <string>

namespace updraft::runtime {

/// Returns the smallest `cpu.max` (quota / period, rounded up) of the process's control group and
/// its ancestors, or 0 without a limit. Containers set it. Only for version 2 of control groups.
/// `membership` is the path of /proc/self/cgroup, `hierarchy` that of /sys/fs/cgroup.
int32_t cpuQuota(const std::string &membership = "/proc/self/cgroup",
                 const std::string &hierarchy = "/sys/fs/cgroup");

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_CPUQUOTA_H
