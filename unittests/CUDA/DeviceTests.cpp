//===- DeviceTests.cpp - Memory, copies and launches ------------------------------------------===//

#include "StandIn.h"

#include "runtime/timeline/Recorder.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace updraft::cuda;
using updraft::runtime::GPUKernels;
using updraft::runtime::Status;

namespace {
constexpr const char *ptx = ".entry sgd_sweep0(.param .u64 chunks)";

class DeviceTest : public StandIn {
protected:
  /// Expects an error with this message, and no effect on the memory and the stream.
  void expectRefusal(const Status &status, upd_status code, const char *text) {
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), text);
    EXPECT_EQ(depth(), 0);
  }

  std::shared_ptr<updraft::gpu::Module> loaded(CudaDevice &device) {
    GPUKernels kernels;
    kernels.ptx = ptx;
    std::shared_ptr<updraft::gpu::Module> module;
    EXPECT_EQ(device.load(kernels, module).message(), "");
    return module;
  }

  int streams[2];
  void *const stream = &streams[0];
  void *const other = &streams[1];
};

TEST_F(DeviceTest, IsDescribed) {
  auto device = makeDevice();
  EXPECT_EQ(device->name(), "NVIDIA H200");
  EXPECT_EQ(device->fullBlocks(), 132 * 8);
  EXPECT_EQ(device->computeMajor(), 9);
  EXPECT_EQ(device->computeMinor(), 0);
  EXPECT_EQ(state->retained, 1);
  device.reset();
  EXPECT_EQ(state->retained, 0);
}

TEST_F(DeviceTest, DoesNotStart) {
  std::shared_ptr<CudaDevice> device;
  fail("cuDevicePrimaryCtxRetain", 2);
  expectRefusal(CudaDevice::make(*driver, 0, {}, device), UPD_OUT_OF_MEMORY,
                "cannot use NVIDIA H200: CUDA_ERROR_OUT_OF_MEMORY, out of memory");
  expectRefusal(CudaDevice::make(*driver, -1, {}, device), UPD_INVALID_ARGUMENT,
                "there is no CUDA device -1; there is 0, after CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(device, nullptr);
  EXPECT_EQ(state->retained, 0);
}

TEST_F(DeviceTest, ReadsBackWrittenBytes) {
  auto device = makeDevice();
  void *memory = nullptr;
  std::vector<int> values(100), found(100, -1);
  std::iota(values.begin(), values.end(), 1);
  ASSERT_EQ(device->allocate(400, &memory).message(), "");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  EXPECT_EQ(device->write(memory, values.data(), 400, stream).message(), "");
  EXPECT_EQ(device->zero(static_cast<int *>(memory) + 10, 40, stream).message(), "");
  EXPECT_EQ(device->read(found.data(), memory, 400, stream).message(), "");
  std::fill(values.begin() + 10, values.begin() + 20, 0);
  EXPECT_EQ(found, values);
  device->release(memory);
  device->release(nullptr);
  EXPECT_EQ(state->allocations, 0);
  device.reset();
  EXPECT_EQ(state->host_allocations, 0);
  EXPECT_EQ(state->events, 0);
}

TEST_F(DeviceTest, TakesNoBytes) {
  auto device = makeDevice();
  void *memory = nullptr;
  ASSERT_EQ(device->allocate(0, &memory).message(), "");
  EXPECT_NE(memory, nullptr);
  EXPECT_TRUE(device->zero(memory, 0, stream).ok());
  EXPECT_TRUE(device->write(memory, nullptr, 0, stream).ok());
  EXPECT_TRUE(device->read(nullptr, memory, 0, stream).ok());
  device->release(memory);
}

/// The stand-in copies when the test waits for the stream. By then the source has changed.
TEST_F(DeviceTest, MayBeWrittenFromMemoryThatChanges) {
  auto device = makeDevice();
  constexpr int most = StagingMemory::mostBuffers, count = most + 5;
  void *memory = nullptr;
  ASSERT_EQ(device->allocate(count * sizeof(int), &memory).message(), "");
  int value;
  for (value = 0; value < count; ++value)
    ASSERT_EQ(
        device->write(static_cast<int *>(memory) + value, &value, sizeof(int), stream).message(),
        "");
  EXPECT_EQ(state->host_allocations, most);
  std::vector<int> found(count), expected(count);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(device->read(found.data(), memory, count * sizeof(int), stream).message(), "");
  EXPECT_EQ(found, expected);
  device->release(memory);
}

/// While one stream is blocked, memory of other streams is reused.
TEST_F(DeviceTest, WaitsForNoOtherStream) {
  auto device = makeDevice();
  constexpr int most = StagingMemory::mostBuffers;
  void *memory = nullptr;
  int value = 1, found = 0;
  ASSERT_EQ(device->allocate(8, &memory).message(), "");
  void *const second = static_cast<int *>(memory) + 1;
  EXPECT_EQ(device->zero(memory, 8, other).message(), "");
  EXPECT_EQ(device->wait(other).message(), "");
  EXPECT_EQ(device->write(memory, &value, 4, stream).message(), "");
  for (int i = 0; i < 2 * most; ++i) {
    EXPECT_EQ(device->write(second, &value, 4, other).message(), "");
    EXPECT_EQ(device->read(&found, i % 2 ? memory : second, 4, other).message(), "");
    EXPECT_EQ(found, i % 2 ? 0 : 1) << i;
  }
  EXPECT_EQ(device->wait(stream).message(), "");
  device->release(memory);
}

TEST_F(DeviceTest, IsWrittenInParts) {
  auto device = makeDevice();
  const size_t bytes = 50 * StagingMemory::bufferBytes + 7;
  std::vector<char> values(bytes), found(bytes);
  for (size_t i = 0; i < bytes; ++i)
    values[i] = static_cast<char>(i % 251);
  void *memory = nullptr;
  ASSERT_EQ(device->allocate(bytes, &memory).message(), "");
  EXPECT_EQ(device->write(memory, values.data(), bytes, stream).message(), "");
  EXPECT_EQ(state->copies, 51);
  EXPECT_EQ(device->read(found.data(), memory, bytes, stream).message(), "");
  EXPECT_TRUE(found == values);
  device->release(memory);
}

TEST_F(DeviceTest, HasNotEnoughMemory) {
  auto device = makeDevice();
  void *memory = &streams;
  fail("cuMemAlloc_v2", 2);
  expectRefusal(
      device->allocate(4096, &memory), UPD_OUT_OF_MEMORY,
      "cannot allocate 4096 bytes on NVIDIA H200: CUDA_ERROR_OUT_OF_MEMORY, out of memory");
  EXPECT_EQ(memory, &streams);
}

/// Each function that a copy needs fails once. Nothing leaks, and the next copy works.
TEST_F(DeviceTest, RecoversFromFailedCopies) {
  auto device = makeDevice();
  int value = 7, found = 0;
  void *memory = nullptr;
  ASSERT_EQ(device->allocate(4, &memory).message(), "");
  for (const char *symbol :
       {"cuMemHostAlloc", "cuEventCreate", "cuMemcpyHtoDAsync_v2", "cuEventRecord"}) {
    reset();
    fail(symbol, 2);
    expectRefusal(device->write(memory, &value, 4, stream), UPD_OUT_OF_MEMORY,
                  "cannot write 4 bytes to NVIDIA H200: CUDA_ERROR_OUT_OF_MEMORY, out of memory");
    EXPECT_EQ(state->host_allocations, 0) << symbol;
    EXPECT_EQ(state->events, 0) << symbol;
  }
  reset();
  fail("cuMemcpyDtoHAsync_v2", 1);
  expectRefusal(device->read(&found, memory, 4, stream), UPD_INTERNAL_ERROR,
                "cannot read 4 bytes from NVIDIA H200: CUDA_ERROR_INVALID_VALUE, invalid argument");
  reset();
  fail("cuMemsetD8Async", 1);
  expectRefusal(device->zero(memory, 4, stream), UPD_INTERNAL_ERROR,
                "cannot zero 4 bytes on NVIDIA H200: CUDA_ERROR_INVALID_VALUE, invalid argument");
  reset();
  fail("cuCtxPushCurrent_v2", 3);
  expectRefusal(device->wait(stream), UPD_INTERNAL_ERROR,
                "cannot use NVIDIA H200: CUDA_ERROR_NOT_INITIALIZED, initialization error");
  reset();
  EXPECT_EQ(device->write(memory, &value, 4, stream).message(), "");
  EXPECT_EQ(device->read(&found, memory, 4, stream).message(), "");
  EXPECT_EQ(found, 7);
  device->release(memory);
}

TEST_F(DeviceTest, LeavesTheCallersContextCurrent) {
  auto device = makeDevice();
  auto *callers = reinterpret_cast<Context *>(&streams);
  ASSERT_EQ(driver->contextPush(callers), success);
  void *memory = nullptr;
  int value = 1;
  EXPECT_TRUE(device->allocate(4, &memory).ok());
  EXPECT_TRUE(device->write(memory, &value, 4, stream).ok());
  EXPECT_TRUE(device->read(&value, memory, 4, stream).ok());
  EXPECT_TRUE(device->wait(stream).ok());
  auto module = loaded(*device);
  updraft::gpu::Kernel kernel = nullptr;
  EXPECT_TRUE(module->find("sgd_sweep0", kernel).ok());
  EXPECT_TRUE(device->launch(kernel, 1, nullptr, stream).ok());
  EXPECT_FALSE(module->find("other", kernel).ok());
  module.reset();
  device->release(memory);
  device.reset();
  EXPECT_EQ(current(), callers);
  EXPECT_EQ(depth(), 1);
  EXPECT_EQ(driver->contextPop(&callers), success);
  EXPECT_EQ(state->modules, 0);
}

TEST_F(DeviceTest, LaunchesWithTheArguments) {
  auto device = makeDevice();
  auto module = loaded(*device);
  updraft::gpu::Kernel kernel = nullptr;
  ASSERT_EQ(module->find("sgd_sweep0", kernel).message(), "");
  uint64_t first = 0x1234567812345678, second = 9;
  void *arguments[] = {&first, &second};
  state->argument_count = 2;
  EXPECT_EQ(device->launch(kernel, 77, arguments, stream).message(), "");
  EXPECT_STREQ(state->kernel, "sgd_sweep0");
  EXPECT_EQ(std::vector<unsigned>(state->grid, state->grid + 3), (std::vector<unsigned>{77, 1, 1}));
  EXPECT_EQ(std::vector<unsigned>(state->block, state->block + 3),
            (std::vector<unsigned>{256, 1, 1}));
  EXPECT_EQ(state->shared_bytes, 0u);
  EXPECT_EQ(state->stream, stream);
  EXPECT_EQ(state->arguments[0], first);
  EXPECT_EQ(state->arguments[1], second);

  EXPECT_EQ(device->launch(kernel, 0, arguments, stream).message(), "");
  EXPECT_EQ(state->launches, 1);
  EXPECT_EQ(device->launch(kernel, int64_t(1) << 40, arguments, nullptr).message(), "");
  EXPECT_EQ(state->grid[0], 0x7fffffffu);
  EXPECT_EQ(state->stream, nullptr);

  fail("cuLaunchKernel", 701);
  expectRefusal(
      device->launch(kernel, 1, arguments, stream), UPD_INTERNAL_ERROR,
      "cannot launch `sgd_sweep0` on NVIDIA H200: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, too "
      "many resources requested for launch");
}

TEST_F(DeviceTest, TheTimelineShowsLaunchesAndWaits) {
  namespace timeline = updraft::timeline;
  auto device = makeDevice();
  auto module = loaded(*device);
  updraft::gpu::Kernel kernel = nullptr;
  ASSERT_EQ(module->find("sgd_sweep0", kernel).message(), "");
  ASSERT_EQ(timeline::start(), timeline::Started::Yes);
  EXPECT_EQ(device->launch(kernel, 1, nullptr, stream).message(), "");
  EXPECT_EQ(device->wait(stream).message(), "");
  const std::string path = testing::TempDir() + "launches.json";
  std::string why;
  ASSERT_EQ(timeline::stop(&path, why), timeline::Stopped::Yes) << why;
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t launch = text.find(R"("name":"launch sgd_sweep0","cat":"launch")");
  const size_t wait = text.find(R"("name":"wait for the GPU","cat":"wait")");
  EXPECT_NE(wait, std::string::npos) << text;
  EXPECT_LT(launch, wait) << text;
  std::filesystem::remove(path);
}

TEST_F(DeviceTest, IsCapturedWithoutCopies) {
  auto device = makeDevice();
  auto module = loaded(*device);
  updraft::gpu::Kernel kernel = nullptr;
  ASSERT_EQ(module->find("sgd_sweep0", kernel).message(), "");
  int value = 3;
  void *memory = nullptr;
  ASSERT_EQ(device->allocate(4, &memory).message(), "");
  state->captured = stream;
  state->any_capture = 1;
  expectRefusal(device->write(memory, &value, 4, stream), UPD_UNSUPPORTED,
                "cannot write 4 bytes to NVIDIA H200 while a graph is captured: replayed, it would "
                "write what the host has by then; do it before the capture");
  expectRefusal(
      device->read(&value, memory, 4, stream), UPD_UNSUPPORTED,
      "cannot read 4 bytes from NVIDIA H200 while a graph is captured: nothing runs until "
      "it is replayed; do it before the capture or after");
  expectRefusal(device->wait(stream), UPD_UNSUPPORTED,
                "cannot wait for NVIDIA H200 while a graph is captured: nothing runs until it is "
                "replayed; do it before the capture or after");
  EXPECT_EQ(state->copies, 0);
  EXPECT_EQ(device->zero(memory, 4, stream).message(), "");
  EXPECT_EQ(device->launch(kernel, 1, nullptr, stream).message(), "");

  // Other streams and memory aren't affected.
  EXPECT_EQ(device->write(memory, &value, 4, other).message(), "");
  EXPECT_EQ(device->wait(other).message(), "");
  device->release(memory);
  EXPECT_EQ(device->allocate(8, &memory).message(), "");
  device->release(memory);
  CaptureMode mode = captureGlobal;
  EXPECT_EQ(driver->exchangeCaptureMode(&mode), success);
  EXPECT_EQ(mode, captureGlobal);

  fail("cuStreamIsCapturing", 906);
  expectRefusal(device->wait(nullptr), UPD_UNSUPPORTED,
                "cannot wait for NVIDIA H200: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, operation would "
                "make the legacy stream depend on a capturing blocking stream");
}

TEST_F(DeviceTest, IsUsedByManyThreads) {
  auto device = makeDevice();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number)
    threads.emplace_back([&, number] {
      int own = 0;
      void *memory = nullptr, *const queue = &own;
      for (int i = 0; i < 100; ++i) {
        int value = 1000 * number + i, found = -1;
        auto module = loaded(*device);
        updraft::gpu::Kernel kernel = nullptr;
        const bool ok = device->allocate(4, &memory).ok() &&
                        module->find("sgd_sweep0", kernel).ok() &&
                        device->write(memory, &value, 4, queue).ok() &&
                        device->launch(kernel, 1, nullptr, queue).ok() &&
                        device->read(&found, memory, 4, queue).ok();
        device->release(memory);
        wrong += !ok || found != value;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(state->allocations, 0);
  EXPECT_EQ(state->launches, 800);
}
} // namespace
