//===- EmulatorDevice.cpp - The emulator as the device under test -----------------------------===//
// Uses the memory of the process, and the library runs kernels on the CPU. This shows that the
// suite works on a machine without a GPU. The measured times are meaningless.

#include "runtime/base/EmulatorDevice.h"
#include "Device.h"
#include "Recorder.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace updraft::suite;

namespace {
/// The emulator doesn't have graphs. A launch calls the captured function again.
class CallAgain : public Graph {
public:
  explicit CallAgain(std::function<void()> body) : body(std::move(body)) {}
  void launch() override { body(); }

private:
  std::function<void()> body;
};

class Emulator : public Device {
public:
  upd_device kind() const override { return updraft::runtime::emulatorDevice; }
  std::string target() const override { return "emulator"; }
  std::string architecture() const override { return "nvptx:sm_90"; }
  nlohmann::ordered_json description() const override {
    return {{"kind", "emulator"}, {"name", "emulator"}};
  }
  size_t freeBytes() const override { return size_t(1) << 30; }
  void *stream() const override { return nullptr; }
  void enterThread() override {}

  void *allocate(size_t bytes) override {
    void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!memory)
      throw std::bad_alloc();
    return memory;
  }
  void release(void *memory) noexcept override { std::free(memory); }
  void write(void *memory, const void *from, size_t bytes) override {
    std::memcpy(memory, from, bytes);
  }
  void read(void *to, const void *memory, size_t bytes) override { std::memcpy(to, memory, bytes); }
  void wait() override {}

  std::unique_ptr<Graph> capture(const std::function<void()> &body) override {
    return std::make_unique<CallAgain>(body);
  }
  double timeMs(const std::function<void()> &body) override {
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }
  void touch(const std::vector<TouchedStream> &streams, int64_t elements, int) override {
    for (const TouchedStream &stream : streams)
      if (stream.written)
        for (int64_t i = 0; i < elements * stream.bytesPerElement; ++i)
          static_cast<volatile char *>(stream.data)[i] =
              static_cast<volatile char *>(stream.data)[i];
  }
  void launchNothing() override {}
};
} // namespace

std::unique_ptr<Device> updraft::suite::openEmulator() { return std::make_unique<Emulator>(); }
