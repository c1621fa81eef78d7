//===- JournalTests.cpp - Records that survive a loss of power --------------------------------===//

#include "SimulatedDisk.h"
#include "runtime/store/Journal.h"
#include "runtime/store/RecordHeader.h"
#include "runtime/store/StoreError.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

using namespace updraft::store;

namespace {

constexpr const char *firstSegment = "journal-00000000000000000001";

class JournalTest : public testing::Test {
protected:
  /// Opens the journal. Returns its records after `after`.
  std::vector<std::string> open(uint64_t after = 0) {
    std::vector<std::string> read;
    journal.reset();
    journal =
        std::make_unique<Journal>(disk, 7, after, [&](uint64_t number, std::string_view text) {
          EXPECT_EQ(number, after + read.size() + 1);
          read.emplace_back(text);
        });
    return read;
  }
  void append(const std::vector<std::string> &texts) {
    for (const std::string &text : texts)
      journal->append({text});
  }
  std::string errorOf(StoreError::Kind kind, const std::function<void()> &call) {
    try {
      call();
    } catch (const StoreError &error) {
      return error.kind() == kind ? error.what() : std::string("another kind: ") + error.what();
    }
    return "no error";
  }
  /// Changes a bit of a byte.
  void damage(const std::string &file, size_t byte) {
    std::string content = storage.content(file);
    content[byte] = static_cast<char>(content[byte] ^ 4);
    storage.setContent(file, content);
  }

  SimulatedStorage storage;
  SimulatedDisk disk{storage};
  std::unique_ptr<Journal> journal;
  std::mt19937_64 random{1};
};

using Texts = std::vector<std::string>;

} // namespace

TEST_F(JournalTest, HasWhatWasAppended) {
  EXPECT_EQ(open(), Texts{});
  EXPECT_EQ(journal->append({"a", "", "bc"}), 1u);
  EXPECT_EQ(journal->append({}), 2u);
  EXPECT_EQ(journal->append({std::string(100, 'x')}), 3u);
  EXPECT_EQ(journal->last(), 3u);
  EXPECT_EQ(open(), (Texts{"abc", "", std::string(100, 'x')}));
  append({"d"});
  EXPECT_EQ(open(2), (Texts{std::string(100, 'x'), "d"}));
}

TEST_F(JournalTest, KeepsWhatWasSynced) {
  open();
  append({"a", "b"});
  journal->sync(2);
  append({"c"});
  storage.restart(random, 0);
  EXPECT_EQ(open(), (Texts{"a", "b"}));
}

/// They were answered as if they were on the disk.
TEST_F(JournalTest, KeepsWhatAnotherProcessHasRead) {
  open();
  append({"a", "b"}); // and the process is killed
  EXPECT_EQ(open(), (Texts{"a", "b"}));
  append({"c"});
  journal->sync(3);
  storage.restart(random, 0);
  EXPECT_EQ(open(), (Texts{"a", "b", "c"}));
}

TEST_F(JournalTest, CutsOffAnIncompleteRecord) {
  open();
  append({"a", "b"});
  const std::string whole = storage.content(firstSegment);
  for (size_t size = 128; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    storage.setContent(firstSegment, whole.substr(0, size));
    const Texts read = open();
    ASSERT_TRUE(read == Texts{"a"} || (read == Texts{"a", "b"} && size > 192));
    append({"c"});
    EXPECT_EQ(open().back(), "c");
    for (const std::string &name : storage.names())
      if (name != firstSegment)
        disk.remove(name);
  }
}

TEST_F(JournalTest, RefusesDamageToWhatWasSynced) {
  open();
  append({"a"});
  journal->sync(1);
  append({"b"}); // knows that "a" had been synced
  const std::string whole = storage.content(firstSegment);
  for (size_t byte = 0; byte < 64 + 1; ++byte) {
    storage.setContent(firstSegment, whole);
    damage(firstSegment, byte);
    ASSERT_EQ(errorOf(StoreError::Kind::Damaged, [&] { open(); }),
              "the journal is damaged: `journal-00000000000000000001`, byte 0: record 1 is not "
              "what was written; restore the file from a copy");
  }
}

TEST_F(JournalTest, RefusesDamageBeforeTheLastSegment) {
  open();
  append({"a", "b"});
  journal->startSegment();
  append({"c"});
  damage(firstSegment, 128);
  EXPECT_EQ(errorOf(StoreError::Kind::Damaged, [&] { open(); }),
            "the journal is damaged: `journal-00000000000000000001`, byte 128: record 2 is not "
            "what was written; restore the file from a copy");
}

TEST_F(JournalTest, RefusesMissingSegments) {
  open();
  append({"a", "b"});
  journal->startSegment();
  append({"c"});
  disk.remove(firstSegment);
  EXPECT_EQ(errorOf(StoreError::Kind::Damaged, [&] { open(); }),
            "the journal is damaged: `journal-00000000000000000003`, byte 0: the records from 1 to "
            "2 are missing; restore the file from a copy");
}

TEST_F(JournalTest, RefusesRecordsOfAnotherStore) {
  open();
  append({"a"});
  EXPECT_EQ(errorOf(StoreError::Kind::Damaged,
                    [&] { Journal(disk, 8, 0, [](uint64_t, std::string_view) { FAIL(); }); }),
            "the journal is damaged: `journal-00000000000000000001`, byte 0: it belongs to another "
            "store; restore the file from a copy");
  EXPECT_EQ(open(), Texts{"a"});
}

TEST_F(JournalTest, RemovesSegmentsOfASnapshot) {
  open();
  append({"a", "b"});
  EXPECT_EQ(journal->startSegment(), 2u);
  EXPECT_EQ(journal->startSegment(), 2u);
  append({"c"});
  EXPECT_EQ(journal->bytes(), 3 * 128u);
  journal->removeUpTo(1);
  EXPECT_EQ(journal->bytes(), 3 * 128u);
  journal->removeUpTo(2);
  EXPECT_EQ(journal->bytes(), 128u);
  EXPECT_EQ(open(2), Texts{"c"});
}

TEST_F(JournalTest, AFullDiskRefusesARecordAndTakesTheNext) {
  open();
  append({"a"});
  storage.capacity = 128 + 100;
  EXPECT_EQ(errorOf(StoreError::Kind::Full, [&] { append({"b"}); }),
            "no space left on the simulated disk");
  storage.capacity = 1000;
  EXPECT_EQ(journal->append({"c"}), 2u);
  EXPECT_EQ(open(), (Texts{"a", "c"}));
}

TEST_F(JournalTest, TakesNoMoreRecordsAfterAFailedSync) {
  open();
  append({"a"});
  storage.failingSync = storage.syncs + 1;
  const std::string text = "the journal takes no more records since an error: cannot sync the "
                           "simulated file; restart the worker";
  EXPECT_EQ(errorOf(StoreError::Kind::Failed, [&] { journal->sync(1); }), text);
  EXPECT_EQ(errorOf(StoreError::Kind::Failed, [&] { journal->sync(1); }), text);
  EXPECT_EQ(errorOf(StoreError::Kind::Failed, [&] { append({"b"}); }), text);
}

TEST_F(JournalTest, OneSyncServesAllThatWait) {
  open();
  append({"a", "b", "c", "d"});
  const uint64_t before = storage.syncs;
  std::vector<std::thread> threads;
  for (uint64_t number = 1; number <= 4; ++number)
    threads.emplace_back([this, number] { journal->sync(number); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(storage.syncs - before, 1u);
}

TEST_F(JournalTest, ThreadsAppendAndSync) {
  open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j)
        journal->sync(journal->append({"x"}));
    });
  for (std::thread &thread : threads)
    thread.join();
  storage.restart(random, 0);
  EXPECT_EQ(open().size(), 200u);
}
