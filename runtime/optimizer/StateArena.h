//===- StateArena.h - Memory for the states of many parameters ----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_STATEARENA_H
#define UPDRAFT_RUNTIME_OPTIMIZER_STATEARENA_H

#include <cstddef>
#include <functional>

namespace updraft::runtime {

/// A block of memory, and the function that releases it.
class StateArena {
public:
  using Release = std::function<void(char *memory, size_t bytes)>;

  StateArena() = default;
  StateArena(void *memory, size_t bytes, Release release);
  StateArena(StateArena &&other) noexcept;
  StateArena &operator=(StateArena &&other) noexcept;
  ~StateArena();

  /// Allocates zeroed memory. From 4 MiB on, uses huge pages if the system allows; each page is
  /// allocated when it is first written, on the NUMA node of that thread. Smaller memory is
  /// allocated at once if possible. Without memory, the result has null data.
  static StateArena allocate(size_t bytes);

  /// Null if there are no bytes.
  char *data() const { return memory; }
  size_t size() const { return bytes; }

private:
  char *memory = nullptr;
  size_t bytes = 0;
  Release release;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_STATEARENA_H
