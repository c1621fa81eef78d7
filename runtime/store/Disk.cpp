//===- Disk.cpp - The files of a store --------------------------------------------------------===//

#include "runtime/store/Disk.h"

#include "runtime/store/StoreError.h"

using namespace updraft::store;

void updraft::store::replaceFile(Disk &disk, const std::string &name,
                                 const std::vector<std::string_view> &parts) {
  const std::string aside = name + ".new";
  try {
    const auto file = disk.open(aside, Disk::Opening::OrCreate);
    file->truncate(0); // of an earlier attempt
    file->write(0, parts);
    file->sync();
  } catch (const StoreError &) {
    disk.remove(aside);
    throw;
  }
  disk.rename(aside, name);
  disk.syncNames();
}
