//===- CpuQuota.cpp - The number of CPUs that the process may use -----------------------------===//

#include "runtime/cpu/CpuQuota.h"

#include <algorithm>
#include <fstream>
#include <limits>

using namespace updraft::runtime;

static constexpr int32_t unlimited = std::numeric_limits<int32_t>::max();

/// Reads a limit from a file such as "200000 100000", or "max 100000" for no limit.
static int32_t readMax(const std::string &path) {
  std::ifstream file(path);
  int64_t quota, period;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0)
    return unlimited;
  const int64_t whole = quota / period + (quota % period != 0);
  return static_cast<int32_t>(std::min<int64_t>(whole, unlimited));
}

/// Returns the process's path in the hierarchy, from the line "0::/path".
static std::string groupOf(const std::string &membership) {
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);)
    if (line.rfind("0::/", 0) == 0)
      return line.substr(3);
  return {};
}

int32_t updraft::runtime::cpuQuota(const std::string &membership, const std::string &hierarchy) {
  int32_t least = unlimited;
  // In a container the path may not exist: the hierarchy's root is the container's own group.
  std::string group = groupOf(membership);
  while (!group.empty()) {
    least = std::min(least, readMax(hierarchy + group + "/cpu.max"));
    group.erase(group.rfind('/'));
  }
  least = std::min(least, readMax(hierarchy + "/cpu.max"));
  return least == unlimited ? 0 : least;
}
