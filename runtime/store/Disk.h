//===- Disk.h - The files of a store ------------------------------------------------*- C++ -*-===//
// All accesses of a store to its files. The simulator implements them, too.

#ifndef UPDRAFT_RUNTIME_STORE_DISK_H
#define UPDRAFT_RUNTIME_STORE_DISK_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::store {

/// An open file. After a loss of power, it contains what was written before the last `sync`, and
/// any part of what was written since. Functions throw StoreError. Several threads may read, or one
/// may write while another syncs.
class File {
public:
  virtual ~File() = default;
  virtual uint64_t size() const = 0;
  /// Returns fewer bytes than `bytes` only at the end of the file.
  virtual size_t read(uint64_t offset, void *data, size_t bytes) const = 0;
  /// Writes the parts one after the other.
  virtual void write(uint64_t offset, const std::vector<std::string_view> &parts) = 0;
  virtual void truncate(uint64_t size) = 0;
  virtual void sync() = 0;
};

/// A folder of files. Names don't contain slashes. Functions throw StoreError. Thread-safe.
class Disk {
public:
  virtual ~Disk() = default;
  enum class Opening { Existing, OrCreate };
  /// Null if the file doesn't exist and `opening` is Existing.
  virtual std::unique_ptr<File> open(const std::string &name, Opening opening) = 0;
  /// Replaces a file of the name `to`.
  virtual void rename(const std::string &from, const std::string &to) = 0;
  /// Has no effect without such a file.
  virtual void remove(const std::string &name) = 0;
  /// In ascending order.
  virtual std::vector<std::string> list() const = 0;
  /// After a loss of power, the names are those at the last call, or later ones.
  virtual void syncNames() = 0;
};

/// Writes a file under another name, and renames it once it is complete and on the disk.
void replaceFile(Disk &disk, const std::string &name, const std::vector<std::string_view> &parts);

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_DISK_H
