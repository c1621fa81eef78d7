//===- FolderDiskTests.cpp - A folder of the file system --------------------------------------===//

#include "ReadFile.h"
#include "runtime/store/FolderDisk.h"
#include "runtime/store/StoreError.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace updraft::store;

namespace {

class FolderDiskTest : public testing::Test {
protected:
  FolderDiskTest() { std::filesystem::remove_all(path); }
  ~FolderDiskTest() override { std::filesystem::remove_all(path); }

  const std::string path = testing::TempDir() + "updraft-folder-disk";
};

using Names = std::vector<std::string>;

} // namespace

TEST_F(FolderDiskTest, ReadsWhatWasWritten) {
  FolderDisk disk(path);
  EXPECT_EQ(disk.open("a", Disk::Opening::Existing), nullptr);
  const auto file = disk.open("a", Disk::Opening::OrCreate);
  file->write(0, {"abc", "", "def"});
  file->write(2, {"X"});
  file->sync();
  EXPECT_EQ(file->size(), 6u);
  char data[10];
  EXPECT_EQ(file->read(1, data, sizeof(data)), 5u);
  EXPECT_EQ(std::string(data, 5), "bXdef");
  file->truncate(2);
  disk.rename("a", "b");
  disk.syncNames();
  EXPECT_EQ(disk.list(), Names{"b"});
  EXPECT_EQ(readFile(disk, "b"), "ab");
  disk.remove("b");
  disk.remove("b");
  EXPECT_EQ(disk.list(), Names{});
}

TEST_F(FolderDiskTest, WritesMoreParts) {
  FolderDisk disk(path);
  const std::vector<std::string_view> parts(1000, "0123456789");
  replaceFile(disk, "a", parts);
  const std::string content = readFile(disk, "a");
  ASSERT_EQ(content.size(), 10000u);
  EXPECT_EQ(content.substr(9990), "0123456789");
  EXPECT_EQ(disk.list(), Names{"a"});
}

TEST_F(FolderDiskTest, HasOneUser) {
  const FolderDisk disk(path);
  try {
    const FolderDisk second(path);
    FAIL();
  } catch (const StoreError &error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::InUse);
    EXPECT_EQ(error.what(), "the store `" + path +
                                "` is in use by another process; give each worker a store of its "
                                "own");
  }
}

TEST_F(FolderDiskTest, SaysWhatItCannotDo) {
  std::ofstream(path) << "a file";
  EXPECT_THROW(FolderDisk{path}, StoreError);
  try {
    FolderDisk(path + "/none/store");
    FAIL();
  } catch (const StoreError &error) {
    EXPECT_EQ(error.what(), "cannot create the folder `" + path + "/none/store`: Not a directory");
  }
}
