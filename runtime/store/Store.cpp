//===- Store.cpp - A parameter server's files -------------------------------------------------===//

#include "runtime/store/Store.h"

#include "runtime/store/Checksum.h"
#include "runtime/store/StoreError.h"

#include <fmt/format.h>
#include <set>
#include <utility>

using namespace updraft::store;

static constexpr std::string_view prefix = "snapshot-";

static std::set<std::string> filesOf(const Snapshot &snapshot) {
  std::set<std::string> result = {snapshot.parameters.name};
  for (const StoredOptimizer &optimizer : snapshot.optimizers)
    result.insert(optimizer.states.name);
  return result;
}

/// Throws Damaged if the folder has files of a store without its catalog, which would otherwise
/// count as a new store.
static Disk &checked(Disk &disk) {
  const auto catalog = disk.open(Catalog::fileName, Disk::Opening::Existing);
  if (catalog && catalog->size() != 0)
    return disk;
  for (const std::string &name : disk.list())
    if (name.starts_with(prefix) || name.starts_with(Journal::prefix))
      throw StoreError(
          StoreError::Kind::Damaged,
          fmt::format("the store has `{}`, and `{}` is missing or empty; restore it from a "
                      "copy",
                      name, Catalog::fileName));
  return disk;
}

Store::Store(std::unique_ptr<Disk> given, uint64_t newStore)
    : disk(std::move(given)), catalog(checked(*disk), newStore), current(catalog.snapshot()),
      lastNumber(current.number) {}

std::unique_ptr<const File> Store::open(const SnapshotFile &file) const {
  std::unique_ptr<const File> opened = disk->open(file.name, Disk::Opening::Existing);
  if (!opened)
    throw StoreError(StoreError::Kind::Damaged,
                     fmt::format("the store has no file `{}`", file.name));
  if (checksum(*opened) != file.checksum)
    throw StoreError(StoreError::Kind::Damaged,
                     fmt::format("`{}` is damaged: its content is not what was written; restore it "
                                 "from a copy",
                                 file.name));
  return opened;
}

void Store::replay(const Journal::Visitor &visit) {
  records.emplace(*disk, catalog.store(), current.record, visit);
  removeOthers(); // only now, because they may help to repair a store that can't be restored
}

SnapshotFile Store::write(const std::string &name, std::string_view content) {
  replaceFile(*disk, name, {content});
  return {name, checksum({content}, 0)};
}

void Store::save(SnapshotContent content) {
  Snapshot &made = content.snapshot;
  made.number = ++lastNumber; // after a failure it isn't known whether the number is in use
  try {
    writeFiles(content);
  } catch (const StoreError &) {
    removeOthers(); // a full disk has room again
    throw;
  }
  replacing.merge(filesOf(made)); // keeps those of earlier failures, too
  catalog.replace(made);
  current = std::move(made);
  replacing.clear();
  // The next start repeats the rest, if it fails.
  removeOthers();
  records->removeUpTo(current.record);
}

void Store::writeFiles(SnapshotContent &content) {
  Snapshot &made = content.snapshot;
  made.parameters =
      write(fmt::format("{}{}-parameters.safetensors", prefix, made.number), content.parameters);
  for (size_t i = 0; i < made.optimizers.size(); ++i)
    made.optimizers[i].states =
        write(fmt::format("{}{}-states-{}.safetensors", prefix, made.number, i), content.states[i]);
}

/// Removes files of other snapshots, also of such that were never completed.
void Store::removeOthers() {
  std::set<std::string> kept = filesOf(current);
  kept.insert(replacing.begin(), replacing.end());
  for (const std::string &name : disk->list())
    if (name.starts_with(prefix) && !kept.contains(name))
      disk->remove(name);
}
