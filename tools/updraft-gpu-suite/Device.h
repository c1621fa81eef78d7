//===- Device.h - What the suite runs on --------------------------------------------*- C++ -*-===//
// Memory, streams and time of a GPU, or of what stands for one. The suite calls the driver itself:
// it must not test the library with the library's own hands. All functions throw
// std::runtime_error with the driver's words, or Skipped for what the device does not have.

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

/// A stream of a step, that a pass reads in full, and may write in place.
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
  /// As upd_compile_options has it.
  virtual std::string target() const = 0;
  /// As updraftc has it for this architecture, for a compilation without the driver.
  virtual std::string architecture() const = 0;
  virtual nlohmann::ordered_json description() const = 0;
  virtual size_t freeBytes() const = 0;

  /// What all below runs on, in order.
  virtual void *stream() const = 0;
  /// Has the calling thread use the device.
  virtual void enterThread() = 0;

  /// Aligned to 256 bytes.
  virtual void *allocate(size_t bytes) = 0;
  virtual void release(void *memory) noexcept = 0;
  /// Done when these return.
  virtual void write(void *memory, const void *from, size_t bytes) = 0;
  virtual void read(void *to, const void *memory, size_t bytes) = 0;
  /// For the stream, and for the default one, which optimizers use until they are told otherwise.
  virtual void wait() = 0;

  virtual std::unique_ptr<Graph> capture(const std::function<void()> &body) = 0;
  /// The time that the device spends on what `body` gives to the stream, in ms.
  virtual double timeMs(const std::function<void()> &body) = 0;
  /// Reads the first stream and writes the others in place, with next to no arithmetic and without
  /// changing a value. `shape` is one of the ways to divide the work, the best of which is the
  /// limit.
  virtual void touch(const std::vector<TouchedStream> &streams, int64_t elements, int shape) = 0;
  static constexpr int touchShapes = 3;
  /// A kernel of one block that does nothing.
  virtual void launchNothing() = 0;
};

/// Throws Skipped if there is no GPU, with the reason.
std::unique_ptr<Device> openCuda(int ordinal);
std::unique_ptr<Device> openEmulator();

/// Memory of a device.
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
