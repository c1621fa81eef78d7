//===- CpuQuota.h - How many CPUs' time the process may use -------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CPU_CPUQUOTA_H
#define UPDRAFT_RUNTIME_CPU_CPUQUOTA_H

#include <cstdint>
#include <string>

namespace updraft::runtime {

/// The least `cpu.max` (quota by period, rounded up) of the process's control group and those that
/// it lies in, as containers set it; 0 if there is none. Version 2 of control groups. `membership`
/// is the path of /proc/self/cgroup, `hierarchy` of what is mounted at /sys/fs/cgroup.
int32_t cpuQuota(const std::string &membership = "/proc/self/cgroup",
                 const std::string &hierarchy = "/sys/fs/cgroup");

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_CPUQUOTA_H
