//===- DeviceArena.h - Several tables in one device allocation ----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GPU_DEVICEARENA_H
#define UPDRAFT_RUNTIME_GPU_DEVICEARENA_H

#include "runtime/gpu/Device.h"

#include <memory>
#include <vector>

namespace updraft::gpu {

/// The location of an array in an arena.
template <typename T> struct Table {
  size_t offset = 0;
  size_t count = 0;
};

/// Reserve all tables first, then allocate them together. Reuses the memory if it is large enough.
class DeviceArena {
public:
  /// Tables that the host fills have a host copy.
  enum class Use : uint8_t { Filled, Scratch };

  DeviceArena(std::shared_ptr<Device> device, Use use) : device(std::move(device)), use(use) {}
  ~DeviceArena() { device->release(memory); }
  DeviceArena(const DeviceArena &) = delete;
  DeviceArena &operator=(const DeviceArena &) = delete;

  /// Removes all tables.
  void clear() { bytes = next = 0; }
  template <typename T> Table<T> reserve(size_t count) {
    return {reserveBytes(count * sizeof(T)), count};
  }
  /// The offset of the next table. Tables that are used one after the other can start at the same
  /// offset; after them comes the end of the longest.
  size_t position() const { return next; }
  void moveTo(size_t offset) { next = offset; }
  void moveToEnd() { next = bytes; }
  runtime::Status allocate();

  template <typename T> T *host(Table<T> table) {
    return reinterpret_cast<T *>(copy.data() + table.offset);
  }
  template <typename T> T *at(Table<T> table, size_t index = 0) const {
    return reinterpret_cast<T *>(static_cast<char *>(memory) + table.offset) + index;
  }

  /// Copies all tables, or one, from the host copy.
  runtime::Status upload(Stream stream);
  template <typename T> runtime::Status upload(Table<T> table, Stream stream) {
    return device->write(at(table), host(table), table.count * sizeof(T), stream);
  }
  runtime::Status zero(Stream stream) { return device->zero(memory, bytes, stream); }

private:
  size_t reserveBytes(size_t count);

  std::shared_ptr<Device> device;
  Use use;
  void *memory = nullptr;
  size_t next = 0, bytes = 0, capacity = 0;
  std::vector<char> copy;
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICEARENA_H
