//===- DiskCacheTest.cpp - The cache never trusts a file --------------------------------------===//

#include "updraft/Driver/DiskCache.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <thread>

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

  std::string pathOf(llvm::StringRef key) { return (folder + "/" + key + ".upc").str(); }
  std::string read(llvm::StringRef key) {
    auto buffer = llvm::MemoryBuffer::getFile(pathOf(key));
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  void write(llvm::StringRef key, llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(pathOf(key), error) << bytes;
    ASSERT_FALSE(error);
  }
  /// Makes an entry look as if it had been used that long ago.
  void age(llvm::StringRef key, time_t seconds) {
    timespec times[2] = {{time(nullptr) - seconds, 0}, {time(nullptr) - seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, pathOf(key).c_str(), times, 0), 0);
  }

  llvm::SmallString<128> folder;
  const CompiledRule rule{R"({"name": "SGD"})", std::string("code\0code", 9)};
};

TEST_F(DiskCacheTest, FindsWhatWasStored) {
  DiskCache cache(folder.str().str(), 1 << 20);
  EXPECT_FALSE(cache.lookup("key"));
  cache.store("key", rule);
  auto found = cache.lookup("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->interfaceJson, rule.interfaceJson);
  EXPECT_EQ(found->object, rule.object);
  EXPECT_FALSE(cache.lookup("other"));
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

TEST_F(DiskCacheTest, IgnoresAFolderThatOthersMayWriteTo) {
  DiskCache cache(folder.str().str(), 1 << 20);
  cache.store("key", rule);
  ASSERT_TRUE(cache.lookup("key"));
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
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
  EXPECT_EQ((*entries)[0].key, "a");
  EXPECT_EQ((*entries)[0].ruleName, "SGD");
  EXPECT_EQ((*entries)[2].ruleName, "?");
  auto removed = cache.clear();
  ASSERT_TRUE(bool(removed));
  EXPECT_EQ(*removed, 3u);
  EXPECT_FALSE(cache.lookup("a"));
}

TEST_F(DiskCacheTest, WritersAndReadersDoNotMeetHalfAnEntry) {
  DiskCache cache(folder.str().str(), 1 << 20);
  const CompiledRule large{rule.interfaceJson, std::string(100'000, 'x')};
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
