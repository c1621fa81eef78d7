//===- ScratchDisk.h - Changes that are not written ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_STORE_SCRATCHDISK_H
#define UPDRAFT_RUNTIME_STORE_SCRATCHDISK_H

#include "runtime/store/Disk.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace updraft::store {

/// Reads another disk, or none, and keeps changes in memory, so that a store can be opened without
/// changing it. A file is read into memory when it is changed. Not thread-safe.
class ScratchDisk : public Disk {
public:
  explicit ScratchDisk(std::unique_ptr<Disk> base = nullptr);

  std::unique_ptr<File> open(const std::string &name, Opening opening) override;
  void rename(const std::string &from, const std::string &to) override;
  void remove(const std::string &name) override;
  std::vector<std::string> list() const override;
  void syncNames() override {}

private:
  class Content;
  class OpenContent;

  const std::unique_ptr<Disk> base;
  std::map<std::string, std::shared_ptr<Content>> files;
};

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_SCRATCHDISK_H
