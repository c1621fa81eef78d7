//===- FileReplacementTests.cpp - Files are written whole or not at all -----------------------===//

#include "runtime/files/FileReplacement.h"
#include "tools/harness/TemporaryFolder.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace updraft::files;
namespace fs = std::filesystem;

namespace {
class FileReplacementTest : public testing::Test {
protected:
  static std::string read(const std::string &file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  size_t filesInFolder() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  static struct stat statusOf(const std::string &file) {
    struct stat status{};
    EXPECT_EQ(::lstat(file.c_str(), &status), 0);
    return status;
  }
  static std::string reasonOf(const Failure &failure) { return failure.value_or("written"); }

  /// Runs `body` in a child process, because its changes to the process can't be undone.
  static void inChild(const std::function<bool()> &body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      ::_exit(body() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }

  const updraft::harness::TemporaryFolder temporary;
  const std::string folder = temporary.path(), path = folder + "/file";
};

TEST_F(FileReplacementTest, WritesNewFilesByTheUmask) {
  const mode_t before = ::umask(027);
  EXPECT_EQ(writeFile(path, "text"), std::nullopt);
  ::umask(before);
  EXPECT_EQ(read(path), "text");
  EXPECT_EQ(statusOf(path).st_mode & 07777, 0640U);
  EXPECT_EQ(filesInFolder(), 1U);
}

TEST_F(FileReplacementTest, LeavesTheFileUntilItIsPublished) {
  ASSERT_EQ(writeFile(path, "old"), std::nullopt);
  {
    FileReplacement file(path);
    ASSERT_EQ(file.open(), std::nullopt);
    ASSERT_EQ(file.write("new", 3), std::nullopt);
    EXPECT_EQ(read(path), "old");
  }
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(filesInFolder(), 1U);
}

TEST_F(FileReplacementTest, LeavesTheFileWhenTheDiskIsFull) {
  ASSERT_EQ(writeFile(path, "old"), std::nullopt);
  inChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           writeFile(path, std::string(2000, 'x')) == "File too large";
  });
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(filesInFolder(), 1U);
}

TEST_F(FileReplacementTest, KeepsModeAndOwner) {
  ASSERT_EQ(writeFile(path, "old"), std::nullopt);
  ASSERT_EQ(::chmod(path.c_str(), 0751), 0);
  const bool isRoot = ::geteuid() == 0;
  if (isRoot)
    ASSERT_EQ(::chown(path.c_str(), 1234, 5678), 0);
  const struct stat old = statusOf(path);
  ASSERT_EQ(writeFile(path, "new"), std::nullopt);
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(statusOf(path).st_mode, old.st_mode);
  EXPECT_EQ(statusOf(path).st_uid, old.st_uid);
  EXPECT_EQ(statusOf(path).st_gid, old.st_gid);
  if (!isRoot)
    GTEST_SKIP() << "only root can give files to others";
}

/// If the group can't be kept, its rights must not pass to another group.
TEST_F(FileReplacementTest, GivesNoOtherGroupRights) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(writeFile(path, "old"), std::nullopt);
  ASSERT_EQ(::chown(path.c_str(), 1234, 5678), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0664), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  inChild([&] {
    return ::setgid(1234) == 0 && ::setuid(1234) == 0 && writeFile(path, "new") == std::nullopt;
  });
  EXPECT_EQ(statusOf(path).st_gid, 1234U);
  EXPECT_EQ(statusOf(path).st_mode & 07777, 0644U);
}

TEST_F(FileReplacementTest, ReplacesTheTargetOfALink) {
  const std::string other = folder + "/other";
  ASSERT_TRUE(fs::create_directory(other));
  fs::create_symlink("../file", other + "/relative");
  fs::create_symlink(other + "/relative", folder + "/absolute");
  ASSERT_EQ(writeFile(folder + "/absolute", "text"), std::nullopt); // creates the file
  EXPECT_EQ(read(path), "text");
  ASSERT_EQ(writeFile(other + "/relative", "more"), std::nullopt);
  EXPECT_EQ(read(path), "more");
  EXPECT_TRUE(fs::is_symlink(other + "/relative"));
  EXPECT_TRUE(fs::is_symlink(folder + "/absolute"));
  fs::create_symlink("loop", folder + "/loop");
  EXPECT_EQ(reasonOf(writeFile(folder + "/loop", "x")), "Too many levels of symbolic links");
}

TEST_F(FileReplacementTest, TreatsHardLinksAsRequested) {
  ASSERT_EQ(writeFile(path, "old"), std::nullopt);
  const std::string other = folder + "/other";
  fs::create_hard_link(path, other);
  EXPECT_EQ(reasonOf(writeFile(path, "new", OtherNames::Refuse)),
            "it has 2 hard links, and only this one would have the new content; copy it to a name "
            "of its own");
  EXPECT_EQ(read(path), "old");
  ASSERT_EQ(writeFile(path, "new"), std::nullopt);
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(read(other), "old");
}

TEST_F(FileReplacementTest, RefusesReadOnlyTargets) {
  ASSERT_EQ(writeFile(path, "old"), std::nullopt);
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  EXPECT_EQ(reasonOf(writeFile(path, "new")), "it is read-only");
  EXPECT_EQ(reasonOf(writeFile(folder, "new")), "it is a folder");
  EXPECT_EQ(reasonOf(writeFile(folder + "/no/file", "new")), "No such file or directory");
  EXPECT_EQ(reasonOf(writeFile(path + "/file", "new")), "Not a directory");
  EXPECT_EQ(reasonOf(writeFile("", "new")), "No such file or directory");
  EXPECT_EQ(reasonOf(FileReplacement("/dev/null").open()), "it is not a regular file");
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(filesInFolder(), 1U);
}

TEST_F(FileReplacementTest, RefusesFilesThatTheUserMayNotWrite) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(writeFile(path, "old"), std::nullopt);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  inChild([&] { return ::setuid(65534) == 0 && writeFile(path, "new") == "Permission denied"; });
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  inChild([&] {
    return ::setuid(65534) == 0 &&
           checkWritable(path) ==
               "its folder `" + folder +
                   "` is not writable (Permission denied), and the new content is first written "
                   "beside the file; make the folder writable, or choose another one";
  });
  EXPECT_EQ(read(path), "old");
}

TEST_F(FileReplacementTest, RefusesMountPointsBeforeAnythingIsWritten) {
  ASSERT_EQ(writeFile(path, "old"), std::nullopt);
  const std::string other = folder + "/other";
  ASSERT_EQ(writeFile(other, "other"), std::nullopt);
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can mount";
  int code = -1;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(other.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      ::_exit(2);
    ::_exit(checkWritable(path) == "it is a mount point, which cannot be replaced; mount the "
                                   "folder that contains the file, or choose another file" &&
                    filesInFolder() == 2
                ? 0
                : 1);
  }
  ASSERT_EQ(::waitpid(child, &code, 0), child);
  if (WEXITSTATUS(code) == 2)
    GTEST_SKIP() << "this container must not mount";
  EXPECT_EQ(code, 0);
}

TEST_F(FileReplacementTest, ChecksWithoutATrace) {
  EXPECT_EQ(checkWritable(path), std::nullopt);
  EXPECT_EQ(filesInFolder(), 0U);
  ASSERT_EQ(writeFile(path, "old"), std::nullopt);
  EXPECT_EQ(checkWritable(path), std::nullopt);
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(filesInFolder(), 1U);
}

TEST_F(FileReplacementTest, TakesNamesOfAnyLength) {
  const std::string longest = folder + "/" + std::string(255, 'n');
  EXPECT_EQ(writeFile(longest, "text"), std::nullopt);
  EXPECT_EQ(read(longest), "text");
  EXPECT_EQ(reasonOf(writeFile(longest + "n", "text")), "File name too long");
}

TEST_F(FileReplacementTest, WritesIntoPipesAndDevices) {
  EXPECT_EQ(writeFile("/dev/null", "text"), std::nullopt);
  EXPECT_EQ(checkWritable("/dev/null"), std::nullopt);
  EXPECT_EQ(reasonOf(checkWritable(folder)), "it is a folder");
  EXPECT_EQ(reasonOf(writeFile("/dev/full", "text")), "No space left on device");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(writeFile("/proc/self/fd/" + std::to_string(ends[1]), "text"), std::nullopt);
  char bytes[5] = {};
  EXPECT_EQ(::read(ends[0], bytes, sizeof(bytes)), 4);
  EXPECT_STREQ(bytes, "text");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(FileReplacementTest, KnowsAFileByAnyName) {
  ASSERT_EQ(writeFile(path, "text"), std::nullopt);
  fs::create_symlink("file", folder + "/link");
  fs::create_hard_link(path, folder + "/other");
  for (const char *name : {"/file", "/./file", "/link", "/other"})
    EXPECT_TRUE(isSameFile(path, folder + name)) << name;
  EXPECT_FALSE(isSameFile(path, folder));
  EXPECT_FALSE(isSameFile(folder + "/missing", folder + "/missing"));
}
} // namespace
