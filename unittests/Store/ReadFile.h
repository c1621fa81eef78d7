//===- ReadFile.h - The content of a file on a disk ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_STORE_READFILE_H
#define UPDRAFT_UNITTESTS_STORE_READFILE_H

#include "runtime/store/Disk.h"

namespace updraft::store {

/// Reads a whole file, which exists.
inline std::string readFile(Disk &disk, const std::string &name) {
  const std::unique_ptr<const File> file = disk.open(name, Disk::Opening::Existing);
  std::string content(file->size(), '\0');
  content.resize(file->read(0, content.data(), content.size()));
  return content;
}

} // namespace updraft::store

#endif // UPDRAFT_UNITTESTS_STORE_READFILE_H
