//===- CpuQuotaTests.cpp - The process's limit of CPU time ------------------------------------===//

#include "runtime/cpu/CpuQuota.h"
#include "tools/harness/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace updraft::runtime;
namespace fs = std::filesystem;

namespace {
/// A process in the control group /a/b, in a test hierarchy.
class CpuQuota : public testing::Test {
protected:
  void SetUp() override { write("membership", "4:memory:/x\n0::/a/b\n"); }

  void write(const std::string &name, const std::string &text) {
    const fs::path path = folder / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  int32_t quota() const { return cpuQuota(folder / "membership", folder / "cgroup"); }

  const updraft::harness::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
};
} // namespace

TEST_F(CpuQuota, IsTheLeastOnTheWayUp) {
  EXPECT_EQ(quota(), 0);
  write("cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  write("cgroup/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 4);
  write("cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 2) << "rounded up";
  write("cgroup/a/b/cpu.max", "1000 100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(CpuQuota, OfAContainerIsAtTheTop) {
  write("cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3);
  write("membership", "0::/\n");
  EXPECT_EQ(quota(), 3);
  fs::remove(folder / "membership");
  EXPECT_EQ(quota(), 3);
}

TEST_F(CpuQuota, IsUnlimitedIfTheFileIsInvalid) {
  for (const char *text : {"", "many", "100000", "-1 100000", "0 100000", "100000 0"}) {
    write("cgroup/a/b/cpu.max", text);
    EXPECT_EQ(quota(), 0) << text;
  }
  write("cgroup/a/b/cpu.max", "9223372036854775807 1");
  EXPECT_EQ(quota(), 0);
}
