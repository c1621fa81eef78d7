//===- SimulatedDisk.cpp - A disk that loses power --------------------------------------------===//

#include "SimulatedDisk.h"

#include "runtime/store/StoreError.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

using namespace updraft::store;

/// A disk writes a sector whole or not at all.
static constexpr size_t sectorBytes = 512;

/// One for all disks: an operation takes no time.
static std::mutex mutex;

static void apply(std::string &content, uint64_t offset, std::string_view data) {
  content.resize(std::max<size_t>(content.size(), offset + data.size()));
  content.replace(offset, data.size(), data);
}

void SimulatedStorage::requirePower() const {
  if (!hasPower)
    throw PowerLoss();
}

void SimulatedStorage::count() {
  requirePower();
  hasPower = ++operations != failsAt;
  requirePower();
}

size_t SimulatedStorage::bytes() const {
  size_t result = 0;
  for (const auto &[name, inode] : current)
    result += inode->current.size();
  return result;
}

void SimulatedStorage::change(const std::function<void(Names &)> &names) {
  names(current);
  changes.push_back(names);
}

void SimulatedStorage::restart(std::mt19937_64 &random, double kept) {
  std::bernoulli_distribution keeps(kept);
  for (const auto &one : changes) { // the first ones, because file systems log names
    if (!keeps(random))
      break;
    one(synced);
  }
  changes.clear();
  for (auto &[name, inode] : synced) {
    for (const Change &one : inode->changes) {
      if (one.isTruncation) {
        if (keeps(random))
          inode->synced.resize(one.offset);
        continue;
      }
      for (size_t done = 0; done < one.data.size();) {
        const size_t end = (one.offset + done) / sectorBytes * sectorBytes + sectorBytes;
        const size_t count = std::min(one.data.size() - done, end - one.offset - done);
        if (keeps(random))
          apply(inode->synced, one.offset + done, std::string_view(one.data).substr(done, count));
        done += count;
      }
    }
    inode->changes.clear();
    inode->current = inode->synced;
  }
  current = synced;
  failsAt = 0;
  hasPower = true;
}

const std::string &SimulatedStorage::content(const std::string &name) const {
  return current.at(name)->current;
}

void SimulatedStorage::setContent(const std::string &name, const std::string &content) {
  Inode &inode = *current.at(name);
  inode.synced = inode.current = content;
  inode.changes.clear();
}

std::vector<std::string> SimulatedStorage::names() const {
  std::vector<std::string> result;
  for (const auto &[name, inode] : current)
    result.push_back(name);
  return result;
}

namespace updraft::store {

class SimulatedFile : public File {
public:
  SimulatedFile(SimulatedStorage &storage, std::shared_ptr<SimulatedStorage::Inode> inode)
      : storage(storage), inode(std::move(inode)) {}

  uint64_t size() const override {
    const std::lock_guard guard(mutex);
    return inode->current.size();
  }

  size_t read(uint64_t offset, void *data, size_t bytes) const override {
    const std::lock_guard guard(mutex);
    const size_t size = inode->current.size();
    const size_t count = offset >= size ? 0 : std::min<size_t>(bytes, size - offset);
    if (count != 0)
      std::memcpy(data, inode->current.data() + offset, count);
    return count;
  }

  void write(uint64_t offset, const std::vector<std::string_view> &parts) override {
    const std::lock_guard guard(mutex);
    storage.requirePower();
    SimulatedStorage::Change change{false, offset, {}};
    for (std::string_view part : parts)
      change.data += part;
    const size_t end = offset + change.data.size();
    const size_t added = end > inode->current.size() ? end - inode->current.size() : 0;
    const size_t free = storage.capacity - std::min(storage.capacity, storage.bytes());
    const bool isFull = added > free;
    if (isFull) // a part is written
      change.data.resize(change.data.size() - (added - free));
    apply(inode->current, offset, change.data);
    inode->changes.push_back(std::move(change));
    storage.count(); // without power, a part of what was written may be on the disk
    if (isFull)
      throw StoreError(StoreError::Kind::Full, "no space left on the simulated disk");
  }

  void truncate(uint64_t size) override {
    const std::lock_guard guard(mutex);
    storage.requirePower();
    inode->current.resize(size);
    inode->changes.push_back({true, size, {}});
    storage.count();
  }

  void sync() override {
    const std::lock_guard guard(mutex);
    storage.count();
    if (++storage.syncs == storage.failingSync)
      throw StoreError(StoreError::Kind::Failed, "cannot sync the simulated file");
    inode->synced = inode->current;
    inode->changes.clear();
  }

private:
  SimulatedStorage &storage;
  const std::shared_ptr<SimulatedStorage::Inode> inode;
};

} // namespace updraft::store

std::unique_ptr<File> SimulatedDisk::open(const std::string &name, Opening opening) {
  const std::lock_guard guard(mutex);
  const auto found = storage.current.find(name);
  if (found != storage.current.end())
    return std::make_unique<SimulatedFile>(storage, found->second);
  if (opening == Opening::Existing)
    return nullptr;
  storage.count();
  auto inode = std::make_shared<SimulatedStorage::Inode>();
  storage.change([name, inode](auto &names) { names[name] = inode; });
  return std::make_unique<SimulatedFile>(storage, inode);
}

void SimulatedDisk::rename(const std::string &from, const std::string &to) {
  const std::lock_guard guard(mutex);
  storage.count();
  storage.change([from, to](auto &names) {
    if (const auto found = names.find(from); found != names.end()) {
      names[to] = found->second;
      names.erase(from);
    }
  });
}

void SimulatedDisk::remove(const std::string &name) {
  const std::lock_guard guard(mutex);
  storage.count();
  storage.change([name](auto &names) { names.erase(name); });
}

void SimulatedDisk::syncNames() {
  const std::lock_guard guard(mutex);
  storage.count();
  if (++storage.syncs == storage.failingSync)
    throw StoreError(StoreError::Kind::Failed, "cannot sync the simulated folder");
  storage.synced = storage.current;
  storage.changes.clear();
}
