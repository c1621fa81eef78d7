//===- Store.h - A parameter server's files -----------------------------------------*- C++ -*-===//
// A snapshot, and a journal of what happened since. docs/store-format.md specifies the files.

#ifndef UPDRAFT_RUNTIME_STORE_STORE_H
#define UPDRAFT_RUNTIME_STORE_STORE_H

#include "runtime/store/Catalog.h"
#include "runtime/store/Journal.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::store {

/// The files of a snapshot that is to be written.
struct SnapshotContent {
  Snapshot snapshot; ///< without the files' names and checksums
  std::string parameters;
  std::vector<std::string> states; ///< of each optimizer
};

/// Throws StoreError. First `replay` is called, once. Then functions are thread-safe.
class Store {
public:
  /// Creates the store if the disk is empty. `newStore` is a number that other stores don't have.
  Store(std::unique_ptr<Disk> disk, uint64_t newStore);

  /// The current snapshot at the start.
  const Snapshot &snapshot() const { return current; }
  /// Opens a file of it, whose content is what was written. Throws Damaged.
  std::unique_ptr<const File> open(const SnapshotFile &file) const;
  /// Calls `visit` with the journal's records after the snapshot, in order.
  void replay(const Journal::Visitor &visit);

  Journal &journal() { return *records; }

  /// Writes a snapshot and makes it the current one, then removes the previous one and the
  /// journal's records that it contains. One call at a time.
  void save(SnapshotContent content);

private:
  void writeFiles(SnapshotContent &content);
  SnapshotFile write(const std::string &name, std::string_view content);
  void removeOthers();

  const std::unique_ptr<Disk> disk;
  Catalog catalog;
  Snapshot current;
  /// Files of snapshots of which one may have become the current one, although the catalog failed.
  std::set<std::string> replacing;
  uint64_t lastNumber;
  std::optional<Journal> records;
};

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_STORE_H
