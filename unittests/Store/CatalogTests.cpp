//===- CatalogTests.cpp - The database of a store ---------------------------------------------===//

#include "SimulatedDisk.h"
#include "runtime/store/Catalog.h"
#include "runtime/store/StoreError.h"

#include <gtest/gtest.h>

#include <sqlite3.h>

using namespace updraft::store;

namespace {

Snapshot example(uint64_t number) {
  Snapshot result;
  result.number = number;
  result.record = ~uint64_t(0) - number;
  result.parameters = {"p", ~uint64_t(0)};
  result.optimizers = {{"o", std::string("a\0b", 3), "", {"s", 5}}};
  result.answers = {{"client", 3, -1}, {"client", ~uint64_t(0) >> 1, number == 0 ? 0 : 7}};
  result.clients = {{"client", 2}};
  return result;
}

bool isSame(const Snapshot &a, const Snapshot &b) {
  return a.number == b.number && a.record == b.record && a.parameters.name == b.parameters.name &&
         a.parameters.checksum == b.parameters.checksum &&
         a.optimizers.size() == b.optimizers.size() && a.answers.size() == b.answers.size() &&
         a.clients.size() == b.clients.size() &&
         (a.optimizers.empty() ||
          (a.optimizers[0].request == b.optimizers[0].request &&
           a.optimizers[0].states.checksum == b.optimizers[0].states.checksum)) &&
         (a.answers.empty() || (a.answers[1].sequence == b.answers[1].sequence &&
                                a.answers[0].value == b.answers[0].value));
}

} // namespace

TEST(CatalogTest, HasTheLastSnapshot) {
  SimulatedStorage storage;
  SimulatedDisk disk(storage);
  {
    Catalog catalog(disk, 99);
    EXPECT_EQ(catalog.store(), 99u);
    EXPECT_TRUE(isSame(catalog.snapshot(), {}));
    catalog.replace(example(1));
  }
  Catalog catalog(disk, 100);
  EXPECT_EQ(catalog.store(), 99u);
  EXPECT_TRUE(isSame(catalog.snapshot(), example(1)));
}

/// Whenever the power fails, the catalog has the old snapshot or the new one.
TEST(CatalogTest, ReplacesASnapshotWholeOrNotAtAll) {
  std::mt19937_64 random(1);
  bool isDone = false;
  for (uint64_t operation = 1; !isDone; ++operation)
    for (double kept : {0.0, 0.5, 1.0}) {
      SimulatedStorage storage;
      SimulatedDisk disk(storage);
      {
        Catalog(disk, 99).replace(example(1));
      }
      storage.failsAt = storage.operations + operation;
      isDone = true;
      try {
        Catalog(disk, 99).replace(example(2));
      } catch (const PowerLoss &) {
        isDone = false;
      }
      storage.restart(random, kept);
      Catalog catalog(disk, 100);
      EXPECT_EQ(catalog.store(), 99u);
      const Snapshot found = catalog.snapshot();
      EXPECT_TRUE(isSame(found, example(2)) || (!isDone && isSame(found, example(1))))
          << operation << " " << kept << " " << found.number;
    }
}

TEST(CatalogTest, RefusesANewerFormat) {
  SimulatedStorage storage;
  SimulatedDisk disk(storage);
  {
    Catalog catalog(disk, 99);
  }
  std::string content = storage.content("catalog.sqlite");
  content[63] = 2; // of the user version, which is big-endian
  storage.setContent("catalog.sqlite", content);
  try {
    Catalog catalog(disk, 99);
    FAIL();
  } catch (const StoreError &error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::Newer);
    EXPECT_STREQ(error.what(), "the store has format 2, and this worker knows up to 1; use a newer "
                               "updraft-worker");
  }
}

TEST(CatalogTest, RefusesADamagedDatabase) {
  SimulatedStorage storage;
  SimulatedDisk disk(storage);
  {
    Catalog catalog(disk, 99);
  }
  storage.setContent("catalog.sqlite", std::string(5000, 'x'));
  try {
    Catalog catalog(disk, 99);
    FAIL();
  } catch (const StoreError &error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::Damaged);
    EXPECT_STREQ(error.what(), "`catalog.sqlite` is damaged: file is not a database; restore it "
                               "from a copy");
  }
}

TEST(CatalogTest, RefusesRowsThatAreNotWhatWasWritten) {
  SimulatedStorage storage;
  SimulatedDisk disk(storage);
  {
    Catalog(disk, 99).replace(example(1));
  }
  const std::string whole = storage.content("catalog.sqlite");
  size_t refused = 0;
  for (size_t place = whole.find("client"); place != std::string::npos;
       place = whole.find("client", place + 1)) {
    std::string content = whole;
    content[place + 7] = static_cast<char>(content[place + 7] ^ 1); // behind a name: a number
    storage.setContent("catalog.sqlite", content);
    try {
      Catalog(disk, 99).snapshot();
    } catch (const StoreError &error) {
      refused +=
          std::string_view(error.what()) ==
          "`catalog.sqlite` is damaged: its rows are not what was written; restore it from a "
          "copy";
    }
  }
  EXPECT_GE(refused, 2u); // other places are in the schema
}
