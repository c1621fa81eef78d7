//===- DatabaseFiles.h - SQLite on a disk of the store ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_STORE_DATABASEFILES_H
#define UPDRAFT_RUNTIME_STORE_DATABASEFILES_H

#include "runtime/store/Disk.h"

#include <exception>
#include <memory>
#include <string>

struct sqlite3_vfs;

namespace updraft::store {

/// Gives SQLite the files of a Disk, as a VFS with a name of its own. There is no locking between
/// connections, because a Disk has one user. Databases need a rollback journal, temporary tables in
/// memory, and must be closed before this is destroyed.
class DatabaseFiles {
public:
  explicit DatabaseFiles(Disk &disk);
  ~DatabaseFiles();
  DatabaseFiles(const DatabaseFiles &) = delete;
  DatabaseFiles &operator=(const DatabaseFiles &) = delete;

  /// For sqlite3_open_v2.
  const char *name() const { return vfsName.c_str(); }
  /// Rethrows the last error of the disk, of which SQLite tells a code alone. Returns without one.
  void rethrow();

  Disk &disk;
  /// Set by the functions that SQLite calls.
  std::exception_ptr error;

private:
  const std::string vfsName;
  std::unique_ptr<sqlite3_vfs> vfs;
};

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_DATABASEFILES_H
