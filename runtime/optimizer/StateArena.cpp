//===- StateArena.cpp - Memory for the states of many parameters ------------------------------===//

#include "runtime/optimizer/StateArena.h"

#include <cstdint>
#include <limits>
#include <sys/mman.h>
#include <utility>

using namespace updraft::runtime;

static constexpr size_t hugePage = size_t(2) << 20;

static char *map(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char *>(memory);
}

static void unmap(char *memory, size_t bytes) { munmap(memory, bytes); }

StateArena StateArena::allocate(size_t bytes) {
  if (bytes == 0 || bytes > std::numeric_limits<size_t>::max() / 2)
    return {};
  if (bytes < 2 * hugePage) {
    char *memory = map(bytes);
    if (!memory)
      return {};
#ifdef MADV_POPULATE_WRITE
    // Populating all pages at once takes a small part of the time of the page faults in a first
    // step. Linux before 5.14 refuses this.
    madvise(memory, bytes, MADV_POPULATE_WRITE);
#endif
    return {memory, bytes, unmap};
  }
  // Huge pages are aligned to their size: maps one more, and unmaps the unaligned ends.
  bytes = (bytes + hugePage - 1) / hugePage * hugePage;
  char *memory = map(bytes + hugePage);
  if (!memory)
    return {};
  const size_t before = (hugePage - reinterpret_cast<uintptr_t>(memory) % hugePage) % hugePage;
  if (before)
    munmap(memory, before);
  if (before != hugePage)
    munmap(memory + before + bytes, hugePage - before);
  memory += before;
  madvise(memory, bytes, MADV_HUGEPAGE); // may fail: huge pages are optional
  return {memory, bytes, unmap};
}

StateArena::StateArena(void *memory, size_t bytes, Release release)
    : memory(static_cast<char *>(memory)), bytes(bytes), release(std::move(release)) {}

StateArena::StateArena(StateArena &&other) noexcept
    : memory(std::exchange(other.memory, nullptr)), bytes(std::exchange(other.bytes, 0)),
      release(std::move(other.release)) {}

StateArena &StateArena::operator=(StateArena &&other) noexcept {
  std::swap(memory, other.memory);
  std::swap(bytes, other.bytes);
  std::swap(release, other.release);
  return *this;
}

StateArena::~StateArena() {
  if (memory)
    release(memory, bytes);
}
