//===- FencedMemory.h - Memory before and after which every access faults -----------*- C++ -*-===//
// For functions that must not read or write beyond an array.

#ifndef UPDRAFT_UNITTESTS_TARGET_FENCEDMEMORY_H
#define UPDRAFT_UNITTESTS_TARGET_FENCEDMEMORY_H

#include <cstddef>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace updraft::test {

/// The side of an array that touches an inaccessible page. The other side is a page away or less.
enum class Fence { After, Before };

/// An array of `size` elements, zero at first. It has the alignment of one element.
template <typename T> class FencedMemory {
public:
  explicit FencedMemory(size_t size, Fence fence = Fence::After) : size(size) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = (size * sizeof(T) + page - 1) / page * page;
    total = bytes + 2 * page;
    void *mapped = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0);
    if (mapped == MAP_FAILED)
      std::abort();
    pages = static_cast<char *>(mapped);
    if (bytes != 0 && mprotect(pages + page, bytes, PROT_READ | PROT_WRITE) != 0)
      std::abort();
    const size_t start = fence == Fence::Before ? 0 : bytes - size * sizeof(T);
    elements = reinterpret_cast<T *>(pages + page + start);
  }
  ~FencedMemory() { munmap(pages, total); }
  FencedMemory(const FencedMemory &) = delete;
  FencedMemory &operator=(const FencedMemory &) = delete;

  T *begin() { return elements; }
  T *end() { return elements + size; }
  T &operator[](size_t index) { return elements[index]; }

private:
  size_t size, total;
  char *pages;
  T *elements;
};

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_FENCEDMEMORY_H
