//===- MemoryPool.cpp - Memory that is used again ---------------------------------------------===//

#include "runtime/server/MemoryPool.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace updraft::server;
using updraft::runtime::StateArena;

/// A process has a limited number of mappings, and each block is one. A search is short, too.
static constexpr size_t mostBlocks = 1024;

StateArena MemoryPool::take(size_t bytes) {
  const std::lock_guard guard(mutex);
  // The last one is the most likely to be in the cache.
  const auto found = std::find_if(kept.rbegin(), kept.rend(),
                                  [&](const Kept &block) { return block.bytes == bytes; });
  if (found == kept.rend())
    return {};
  StateArena memory = std::move(found->memory);
  total -= bytes;
  kept.erase(std::next(found).base());
  return memory;
}

void MemoryPool::put(StateArena memory, size_t bytes) {
  if (!memory.data())
    return;
  List block;
  block.push_back({std::move(memory), bytes, Clock::now()});
  const std::lock_guard guard(mutex);
  total += bytes;
  kept.splice(kept.end(), block);
  if (kept.size() > mostBlocks) {
    total -= kept.front().bytes;
    block.splice(block.end(), kept, kept.begin()); // freed after the mutex is unlocked
  }
}

template <typename IsObsolete> void MemoryPool::freeOldest(const IsObsolete &isObsolete) {
  List freed;
  const std::lock_guard guard(mutex);
  while (!kept.empty() && isObsolete(kept.front())) {
    total -= kept.front().bytes;
    freed.splice(freed.end(), kept, kept.begin());
  }
}

void MemoryPool::shrink(size_t most) {
  freeOldest([&](const Kept &) { return total > most; });
}

void MemoryPool::freeUnused(std::chrono::seconds age) {
  const Clock::time_point latest = Clock::now() - age;
  freeOldest([&](const Kept &block) { return block.since <= latest; });
}

size_t MemoryPool::bytes() const {
  const std::lock_guard guard(mutex);
  return total;
}
