//===- DiskCacheTest.cpp - The cache never trusts a file --------------------------------------===//

#include "updraft/Driver/DiskCache.h"

#include "runtime/base/RuleInterface.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace updraft;

namespace {
class DiskCacheTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("updraft-cache", folder));
    llvm::sys::path::append(folder, "cache");
  }
  void TearDown() override {
    llvm::sys::fs::remove_directories(llvm::sys::path::parent_path(folder));
  }

  std::string pathOf(llvm::StringRef key) {
    return (folder + "/" + files::CodeCache("", ".upc", 0).nameOf(key)).str();
  }
  std::string read(llvm::StringRef key) {
    auto buffer = llvm::MemoryBuffer::getFile(pathOf(key));
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  void write(llvm::StringRef key, llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(pathOf(key), error) << bytes;
    ASSERT_FALSE(error);
  }
  /// Sets the entry's last use to this many seconds ago.
  void age(llvm::StringRef key, time_t seconds) {
    timespec times[2] = {{time(nullptr) - seconds, 0}, {time(nullptr) - seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, pathOf(key).c_str(), times, 0), 0);
  }

  llvm::SmallString<128> folder;
  static CompiledRule ruleNamed(const char *name) {
    runtime::RuleInterface interface;
    interface.name = name;
    runtime::PlanInterface plan;
    plan.prefix = name;
    for (auto kind : {runtime::StreamInterface::Kind::Param, runtime::StreamInterface::Kind::Grad})
      plan.streams.push_back({kind, UPD_F32, runtime::Extent::Element});
    plan.firstTemporary = 2;
    interface.plans = {plan};
    return {interface.write(), std::string("code\0code", 9)};
  }
  const CompiledRule rule = ruleNamed("SGD");
};

TEST_F(DiskCacheTest, FindsStoredEntries) {
  DiskCache cache(folder.str().str(), 1 << 20);
  EXPECT_FALSE(cache.lookup("key"));
  cache.store("key", rule);
  auto found = cache.lookup("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->descriptor, rule.descriptor);
  EXPECT_EQ(found->object, rule.object);
  EXPECT_FALSE(cache.lookup("other"));
}

/// A library that is loaded into Python must not install signal handlers.
TEST_F(DiskCacheTest, LeavesSignalsAlone) {
  auto handlerOf = [](int signal) {
    struct sigaction action;
    EXPECT_EQ(::sigaction(signal, nullptr, &action), 0);
    return action.sa_handler;
  };
  const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGSEGV, SIGABRT};
  std::vector<void (*)(int)> before;
  for (int signal : signals)
    before.push_back(handlerOf(signal));
  DiskCache(folder.str().str(), 1 << 20).store("key", rule);
  ASSERT_NE(read("key"), "");
  for (auto [signal, handler] : llvm::zip_equal(signals, before))
    EXPECT_EQ(handlerOf(signal), handler) << "signal " << signal;
}

TEST_F(DiskCacheTest, RefusesEveryDamagedByte) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  const std::string good = read("key");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 0x40;
    write("key", bad);
    EXPECT_FALSE(cache.lookup("key")) << "byte " << i;
    EXPECT_FALSE(llvm::sys::fs::exists(pathOf("key"))) << "byte " << i;
  }
}

TEST_F(DiskCacheTest, RefusesEveryTruncation) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  const std::string good = read("key");
  for (size_t size = 0; size < good.size(); ++size) {
    write("key", llvm::StringRef(good).take_front(size));
    EXPECT_FALSE(cache.lookup("key")) << size << " bytes";
  }
  write("key", good + "x");
  EXPECT_FALSE(cache.lookup("key"));
}

TEST_F(DiskCacheTest, RefusesAnEntryUnderAnotherKey) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  write("other", read("key"));
  EXPECT_FALSE(cache.lookup("other"));
  EXPECT_TRUE(cache.lookup("key"));
}

TEST_F(DiskCacheTest, RemovesFilesOfKilledWriters) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  const std::string recent = (folder + "/.updraft-1-0.tmp").str();
  const std::string old = (folder + "/.updraft-1-1.tmp").str();
  const std::string other = (folder + "/.other-1-1.tmp").str();
  for (const std::string &path : {recent, old, other})
    ASSERT_FALSE(llvm::sys::fs::copy_file(pathOf("key"), path));
  timespec times[2] = {{time(nullptr) - 7200, 0}, {time(nullptr) - 7200, 0}};
  for (const std::string &path : {old, other})
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  cache.store("second", rule);
  EXPECT_TRUE(llvm::sys::fs::exists(recent));
  EXPECT_FALSE(llvm::sys::fs::exists(old));
  EXPECT_TRUE(llvm::sys::fs::exists(other));
}

TEST_F(DiskCacheTest, ReadsNoPipesAndDevices) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  ASSERT_EQ(::mkfifo(pathOf("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/dev/zero", pathOf("endless").c_str()), 0);
  EXPECT_FALSE(cache.lookup("pipe"));
  EXPECT_FALSE(cache.lookup("endless"));
  auto entries = cache.entries();
  ASSERT_TRUE(bool(entries));
  EXPECT_EQ(entries->size(), 3u);
}

TEST_F(DiskCacheTest, TheDefaultFolderIsNeverRelative) {
  ::unsetenv("UPDRAFT_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", "", 1);
  EXPECT_EQ(DiskCache::fromEnvironment().getFolder().find("updraft"), std::string::npos);
  ::setenv("XDG_CACHE_HOME", "/some/where", 1);
  EXPECT_EQ(DiskCache::fromEnvironment().getFolder(), "/some/where/updraft");
}

TEST_F(DiskCacheTest, IgnoresAFolderThatOthersMayWriteTo) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  ASSERT_TRUE(cache.lookup("key"));
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_FALSE(cache.lookup("key"));
}

TEST_F(DiskCacheTest, SaysWhyItIsNotUsed) {
  DiskCache cache(folder.str().str(), 1 << 20);
  EXPECT_EQ(cache.whyUnused(), ""); // it is not there
  cache.store("key", rule);
  EXPECT_EQ(cache.whyUnused(), "");
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  const std::string reason =
      ("other users may write to `" + folder +
       "` (mode 0777); use a folder that only you can write to, or `chmod go-w` this one")
          .str();
  EXPECT_EQ(cache.whyUnused(), reason);
  auto entries = cache.entries();
  ASSERT_TRUE(bool(entries));
  EXPECT_TRUE(entries->empty());
  auto removed = cache.clear();
  ASSERT_FALSE(bool(removed));
  EXPECT_EQ(takeStatus(removed.takeError()).second,
            ("the cache folder `" + folder + "` is not used: " + reason).str());
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  DiskCache file("/dev/null/cache", 1 << 20);
  EXPECT_EQ(file.whyUnused(), "`/dev/null` is not a folder");
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can make a folder of another user";
  ASSERT_EQ(::chown(folder.c_str(), 65534, 65534), 0);
  EXPECT_EQ(
      cache.whyUnused(),
      ("`" + folder + "` belongs to another user (uid 65534); use a folder of your own").str());
}

/// Many systems give every user a group, of the same number, and folders that it may write to.
TEST_F(DiskCacheTest, TrustsTheGroupThatIsTheUsersOwn) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  const std::string parent = llvm::sys::path::parent_path(folder).str();
  ASSERT_EQ(::chmod(parent.c_str(), 0770), 0);
  EXPECT_EQ(cache.lookup("key").has_value(), ::getegid() == ::geteuid());
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a folder to another group";
  ASSERT_EQ(::chown(parent.c_str(), static_cast<uid_t>(-1), 65534), 0);
  ASSERT_EQ(::chmod(parent.c_str(), 0770), 0);
  EXPECT_FALSE(cache.lookup("key"));
}

/// A user who may rename entries of a parent folder could replace the folder.
TEST_F(DiskCacheTest, IgnoresAFolderThatOthersMayExchange) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  const std::string parent = llvm::sys::path::parent_path(folder).str();
  ASSERT_EQ(::chmod(parent.c_str(), 0777), 0);
  EXPECT_FALSE(cache.lookup("key"));
  cache.store("other", rule);
  EXPECT_EQ(read("other"), "");
  // As /tmp is: only the owner renames or removes what is there.
  ASSERT_EQ(::chmod(parent.c_str(), 01777), 0);
  EXPECT_TRUE(cache.lookup("key"));
}

TEST_F(DiskCacheTest, FollowsTrustedLinks) {
  DiskCache(folder.str().str(), 1 << 20).store("key", rule);
  const std::string parent = llvm::sys::path::parent_path(folder).str();
  const std::string link = parent + "/link";
  for (const std::string &target : {folder.str().str(), std::string("cache"),
                                    "../" + llvm::sys::path::filename(parent).str() + "/./cache"}) {
    ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
    EXPECT_TRUE(DiskCache(link, 1 << 20).lookup("key")) << target;
    ASSERT_EQ(::unlink(link.c_str()), 0);
  }
  ASSERT_EQ(::symlink("link", link.c_str()), 0);
  EXPECT_FALSE(DiskCache(link, 1 << 20).lookup("key"));
  ASSERT_EQ(::unlink(link.c_str()), 0);
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can make a link of another user";
  ASSERT_EQ(::symlink("cache", link.c_str()), 0);
  ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(DiskCache(link, 1 << 20).lookup("key"));
}

TEST_F(DiskCacheTest, IgnoresEntriesThatOthersMayHaveWritten) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  for (mode_t mode : {0606, 0660}) {
    ASSERT_EQ(::chmod(pathOf("key").c_str(), mode), 0);
    EXPECT_FALSE(cache.lookup("key"));
  }
  ASSERT_EQ(::chmod(pathOf("key").c_str(), 0600), 0);
  EXPECT_TRUE(cache.lookup("key"));
  ASSERT_FALSE(llvm::sys::fs::rename(pathOf("key"), folder + "/elsewhere"));
  ASSERT_EQ(::symlink("elsewhere", pathOf("key").c_str()), 0);
  EXPECT_FALSE(cache.lookup("key"));
  cache.store("key", rule); // in its place
  EXPECT_TRUE(cache.lookup("key"));
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can make a file of another user";
  ASSERT_EQ(::chown(pathOf("key").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(cache.lookup("key"));
}

TEST_F(DiskCacheTest, AnUnusableFolderIsAnEmptyCache) {
  DiskCache none("", 1 << 20);
  none.store("key", rule);
  EXPECT_FALSE(none.lookup("key"));
  DiskCache file("/dev/null/cache", 1 << 20);
  file.store("key", rule);
  EXPECT_FALSE(file.lookup("key"));
}

TEST_F(DiskCacheTest, DropsTheLeastRecentlyUsed) {
  DiskCache measure(folder.str().str(), 1 << 20);
  measure.store("a", rule);
  const uint64_t size = read("a").size();
  DiskCache cache(folder.str().str(), 2 * size);
  cache.store("b", rule);
  age("a", 100);
  age("b", 200);
  ASSERT_TRUE(cache.lookup("b")); // now b is the most recent
  cache.store("c", rule);
  EXPECT_FALSE(cache.lookup("a"));
  EXPECT_TRUE(cache.lookup("b"));
  EXPECT_TRUE(cache.lookup("c"));
  cache.store("d", {rule.descriptor, std::string(3 * size, 'x')});
  EXPECT_FALSE(cache.lookup("d"));
  EXPECT_TRUE(cache.lookup("c"));
}

TEST_F(DiskCacheTest, ListsAndClears) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("a", rule);
  cache.store("b", rule);
  write("c", "damaged");
  age("a", 10);
  age("b", 20);
  age("c", 30);
  auto entries = cache.entries();
  ASSERT_TRUE(bool(entries));
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].key, llvm::sys::path::stem(pathOf("a")));
  EXPECT_EQ((*entries)[0].ruleName, "SGD");
  EXPECT_EQ((*entries)[2].ruleName, "?");
  auto removed = cache.clear();
  ASSERT_TRUE(bool(removed));
  EXPECT_EQ(*removed, 3u);
  EXPECT_FALSE(cache.lookup("a"));
}

TEST_F(DiskCacheTest, WritersAndReadersDoNotMeetHalfAnEntry) {
  DiskCache cache(folder.str().str(), 1 << 20);
  const CompiledRule large{rule.descriptor, std::string(100'000, 'x')};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        cache.store("key", large);
        if (auto found = cache.lookup("key"))
          EXPECT_EQ(found->object, large.object);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(cache.lookup("key"));
}
} // namespace
