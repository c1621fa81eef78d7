//===- TrustedPathTests.cpp - Trust in the folders of a path ----------------------------------===//

#include "runtime/files/TrustedPath.h"
#include "tools/harness/TemporaryFolder.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace updraft::files;
namespace fs = std::filesystem;

static constexpr uid_t overflow = 65534;

/// As in a container whose user namespace lacks the owners of `/` and of `/theirs`: both appear as
/// the overflow uid.
TEST(TrustedPath, TrustsTheOwnerOfTheRootOnlyWithTheRoot) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can change its root folder";
  const updraft::harness::TemporaryFolder temporary;
  const std::string &root = temporary.path();
  fs::create_directories(root + "/own/cache");
  fs::create_directories(root + "/theirs/cache");
  for (const std::string &folder : {root, root + "/theirs"}) {
    ASSERT_EQ(::chown(folder.c_str(), overflow, overflow), 0);
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  }
  for (const char *folder : {"/own", "/own/cache", "/theirs/cache"})
    ASSERT_EQ(::chmod((root + folder).c_str(), 0700), 0);

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::string reason;
    if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0)
      ::_exit(1);
    if (openTrusted("/own/cache", IfMissing::Fail, reason) < 0 || !reason.empty())
      ::_exit(2);
    if (openTrusted("/theirs/cache", IfMissing::Fail, reason) >= 0)
      ::_exit(3);
    ::_exit(reason == "`/theirs` belongs to another user (uid 65534); use a folder of your own"
                ? 0
                : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
