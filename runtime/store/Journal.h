//===- Journal.h - The changes since a snapshot -------------------------------------*- C++ -*-===//
// Records with ascending numbers, in segments: files that are only appended to.
// docs/store-format.md specifies the files.

#ifndef UPDRAFT_RUNTIME_STORE_JOURNAL_H
#define UPDRAFT_RUNTIME_STORE_JOURNAL_H

#include "runtime/store/Disk.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::store {

/// Appends records, and syncs them in groups. Thread-safe. Throws StoreError.
class Journal {
public:
  /// The names of segments begin with it.
  static constexpr std::string_view prefix = "journal-";

  using Visitor = std::function<void(uint64_t number, std::string_view content)>;

  /// Reads the records after number `after`, in order, and calls `visit` with each. Cuts off an
  /// incomplete record at the end, which was never synced. Syncs the others, and continues in a new
  /// segment.
  /// `store` is the store's own number; records of another store are not read. Throws Damaged, with
  /// the place, for a record that had been synced.
  Journal(Disk &disk, uint64_t store, uint64_t after, const Visitor &visit);

  /// Appends a record, which consists of the parts one after the other. Returns its number. If it
  /// throws, the journal doesn't contain the record.
  uint64_t append(const std::vector<std::string_view> &parts);
  /// Returns once the record `number` and all before are on the disk. A call serves all threads
  /// that wait. Throws Failed if that isn't known; then the journal takes no more records.
  void sync(uint64_t number);

  /// The number of the last record; 0 without any.
  uint64_t last() const;
  /// The bytes of all segments.
  uint64_t bytes() const;

  /// Syncs all records, and continues in a new segment. Returns the number of the last record.
  uint64_t startSegment();
  /// Removes segments whose records all have numbers up to `number`. Not the current one.
  void removeUpTo(uint64_t number);

private:
  struct Segment {
    uint64_t first = 0; ///< the number of its first record
    uint64_t bytes = 0;
  };

  void read(uint64_t after, const Visitor &visit);
  void readSegment(Segment &segment, bool isLast, uint64_t after, const Visitor &visit,
                   std::string &content);
  void openSegment();
  void requireWhole() const;

  Disk &disk;
  const uint64_t store;

  std::mutex writing; ///< held by the thread that writes; locked before `mutex`
  std::shared_ptr<File> file;

  mutable std::mutex mutex; ///< guards what follows
  std::condition_variable changed;
  std::vector<Segment> segments; ///< the last is the current one
  uint64_t appended = 0, synced = 0;
  bool isSyncing = false;
  std::string failure; ///< why it takes no more records
};

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_JOURNAL_H
