//===- SimulatedDisk.h - A disk that loses power ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_STORE_SIMULATEDDISK_H
#define UPDRAFT_UNITTESTS_STORE_SIMULATEDDISK_H

#include "runtime/store/Disk.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace updraft::store {

/// Thrown by operations of a disk without power. No code but a test catches it.
struct PowerLoss {};

/// The content of a disk, which outlives the process that uses it.
class SimulatedStorage {
public:
  /// A loss of power before the operation with this number, counted from 1; 0: none.
  uint64_t failsAt = 0;
  /// Operations that change the disk, so far.
  uint64_t operations = 0;
  /// The bytes of all files together.
  size_t capacity = SIZE_MAX;
  /// The number of the next `sync`, also of names, that fails; 0: none.
  uint64_t failingSync = 0;
  uint64_t syncs = 0;

  /// Ends the loss of power. Of what was not synced, keeps each sector with a probability of `kept`
  /// and the first of the changed names.
  void restart(std::mt19937_64 &random, double kept);

  /// The content of a file, which must exist. Setting it also sets what was synced.
  const std::string &content(const std::string &name) const;
  void setContent(const std::string &name, const std::string &content);
  std::vector<std::string> names() const;

private:
  friend class SimulatedDisk;
  friend class SimulatedFile;

  struct Change {
    bool isTruncation = false;
    uint64_t offset = 0; ///< or size
    std::string data;
  };
  struct Inode {
    std::string synced, current;
    std::vector<Change> changes; ///< from `synced` to `current`
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;

  void requirePower() const;
  void count(); ///< an operation; throws PowerLoss if it is the last
  size_t bytes() const;
  void change(const std::function<void(Names &)> &names);

  Names synced, current;
  std::vector<std::function<void(Names &)>> changes; ///< from `synced` to `current`
  bool hasPower = true;
};

/// A process's access to a storage, which must outlive it. Thread-safe; the storage's own functions
/// are not.
class SimulatedDisk : public Disk {
public:
  explicit SimulatedDisk(SimulatedStorage &storage) : storage(storage) {}

  std::unique_ptr<File> open(const std::string &name, Opening opening) override;
  void rename(const std::string &from, const std::string &to) override;
  void remove(const std::string &name) override;
  std::vector<std::string> list() const override { return storage.names(); }
  void syncNames() override;

private:
  SimulatedStorage &storage;
};

} // namespace updraft::store

#endif // UPDRAFT_UNITTESTS_STORE_SIMULATEDDISK_H
