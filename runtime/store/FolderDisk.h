//===- FolderDisk.h - A folder of the file system -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_STORE_FOLDERDISK_H
#define UPDRAFT_RUNTIME_STORE_FOLDERDISK_H

#include "runtime/store/Disk.h"

namespace updraft::store {

/// A folder, which it creates if it doesn't exist, with the mode 0700. Only one process at a time
/// has it: its lock ends with the process.
class FolderDisk : public Disk {
public:
  /// Throws InUse if another process has the folder.
  explicit FolderDisk(const std::string &path);
  ~FolderDisk() override;
  FolderDisk(const FolderDisk &) = delete;
  FolderDisk &operator=(const FolderDisk &) = delete;

  const std::string &path() const { return folder; }

  std::unique_ptr<File> open(const std::string &name, Opening opening) override;
  void rename(const std::string &from, const std::string &to) override;
  void remove(const std::string &name) override;
  std::vector<std::string> list() const override;
  void syncNames() override;

private:
  const std::string folder;
  int descriptor = -1;
};

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_FOLDERDISK_H
