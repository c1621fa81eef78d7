//===- Catalog.h - The contents of a snapshot ---------------------------------------*- C++ -*-===//
// A database of SQLite. It changes with each snapshot, and only then: in one transaction, which
// makes the snapshot the current one.

#ifndef UPDRAFT_RUNTIME_STORE_CATALOG_H
#define UPDRAFT_RUNTIME_STORE_CATALOG_H

#include "runtime/store/DatabaseFiles.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct sqlite3;

namespace updraft::store {

/// A file of a snapshot.
struct SnapshotFile {
  std::string name;
  uint64_t checksum = 0; ///< of all its bytes
};

struct StoredOptimizer {
  std::string name;
  std::string request; ///< the message that created it
  std::string package; ///< the code that steps it
  SnapshotFile states;
};

/// The answer to a request.
struct StoredAnswer {
  std::string client;
  uint64_t sequence = 0;
  int64_t value = 0;
};

/// The last answer of a client that may have been forgotten.
struct StoredClient {
  std::string name;
  uint64_t forgotten = 0;
};

struct Snapshot {
  uint64_t number = 0; ///< 0: empty, of a new store
  uint64_t record = 0; ///< the last record of the journal that it contains
  SnapshotFile parameters;
  std::vector<StoredOptimizer> optimizers;
  std::vector<StoredAnswer> answers;
  std::vector<StoredClient> clients;
};

/// Not thread-safe. Throws StoreError.
class Catalog {
public:
  /// Its file on the disk.
  static constexpr const char *fileName = "catalog.sqlite";

  /// Opens the database, or creates one with the number `newStore` and an empty snapshot.
  Catalog(Disk &disk, uint64_t newStore);
  ~Catalog();

  /// The store's own number.
  uint64_t store() const { return number; }

  Snapshot snapshot();
  /// Makes this the current snapshot. On an error the old one stays.
  void replace(Snapshot snapshot);

private:
  class Statement;

  void run(const char *sql);
  void check(int code, const char *what);
  void create(uint64_t newStore);

  DatabaseFiles files;
  sqlite3 *database = nullptr;
  uint64_t number = 0;
};

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_CATALOG_H
