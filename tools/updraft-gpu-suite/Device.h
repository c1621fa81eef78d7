//===- Device.h - The device under test ---------------------------------------------*- C++ -*-===//
// Memory, streams and timing of a GPU or its emulator. The suite calls the driver directly, so that
// it doesn't test the library with the library's own code. All functions throw std::runtime_error
// with the driver's message, or Skipped if the device lacks a feature.

#ifndef UPDRAFT_TOOLS_GPUSUITE_DEVICE_H
#define UPDRAFT_TOOLS_GPUSUITE_DEVICE_H

#include "updraft-c/types.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace updraft::suite {

/// A stream of a step that a sweep reads entirely, and may write in place.
struct TouchedStream {
  void *data;
  int bytesPerElement;
  bool written;
};

/// A captured stream.
class Graph {
public:
  virtual ~Graph() = default;
  virtual void launch() = 0;
};

class Device {
public:
  virtual ~Device() = default;

  virtual upd_device kind() const = 0;
  /// As in upd_compile_options.
  virtual std::string target() const = 0;
  /// The target for updraftc, to compile without the driver.
  virtual std::string architecture() const = 0;
  virtual nlohmann::ordered_json description() const = 0;
  virtual size_t freeBytes() const = 0;

  /// The stream that all functions below use, in order.
  virtual void *stream() const = 0;
  /// Makes the calling thread use the device.
  virtual void enterThread() = 0;

  /// Aligned to 256 bytes.
  virtual void *allocate(size_t bytes) = 0;
  virtual void release(void *memory) noexcept = 0;
  /// Returns when the copy is complete.
  virtual void write(void *memory, const void *from, size_t bytes) = 0;
  virtual void read(void *to, const void *memory, size_t bytes) = 0;
  /// Waits for this stream and the default stream, which optimizers use until they are given
  /// another.
  virtual void wait() = 0;

  virtual std::unique_ptr<Graph> capture(const std::function<void()> &body) = 0;
  /// The time in ms that the device spends on the work that `body` adds to the stream.
  virtual double timeMs(const std::function<void()> &body) = 0;
  /// Reads the first stream and writes the others in place, with almost no arithmetic and without
  /// changing a value. `shape` selects one of several ways to divide the work. The fastest is the
  /// limit.
  virtual void touch(const std::vector<TouchedStream> &streams, int64_t elements, int shape) = 0;
  static constexpr int touchShapes = 3;
  /// Launches a kernel of one block that does nothing.
  virtual void launchNothing() = 0;
};

/// Throws Skipped if there is no GPU, with the reason.
std::unique_ptr<Device> openCuda(int ordinal);
std::unique_ptr<Device> openEmulator();

/// An allocation on a device.
class Buffer {
public:
  Buffer(Device &device, size_t bytes)
      : device(&device), memory(device.allocate(bytes ? bytes : 1)) {}
  ~Buffer() { device->release(memory); }
  Buffer(const Buffer &) = delete;

  char *data() const { return static_cast<char *>(memory); }

private:
  Device *device;
  void *memory;
};

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_DEVICE_H
