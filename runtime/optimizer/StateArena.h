//===- StateArena.h - Memory for the states of many parameters ----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_STATEARENA_H
#define UPDRAFT_RUNTIME_OPTIMIZER_STATEARENA_H

#include <cstddef>
#include <functional>

namespace updraft::runtime {

/// A piece of memory, and how it is given back.
class StateArena {
public:
  /// Every state starts at a multiple of this many bytes.
  static constexpr size_t alignment = 64;

  using Release = std::function<void(char *memory, size_t bytes)>;

  StateArena() = default;
  StateArena(void *memory, size_t bytes, Release release);
  StateArena(StateArena &&other) noexcept;
  StateArena &operator=(StateArena &&other) noexcept;
  ~StateArena();

  /// Zeros, fresh from the system: a page takes memory, on the NUMA node of the thread, when it is
  /// first written. In huge pages where the system allows. Without memory, the result has null
  /// data.
  static StateArena allocate(size_t bytes);

  /// Null if it has no bytes.
  char *data() const { return memory; }
  size_t size() const { return bytes; }

private:
  char *memory = nullptr;
  size_t bytes = 0;
  Release release;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_STATEARENA_H
