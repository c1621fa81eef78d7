//===- CudaDevice.cpp - An NVIDIA GPU ---------------------------------------------------------===//

#include "Device.h"
#include "Recorder.h"
#include "TouchKernels.h"
#include "runtime/cuda/Driver.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

using namespace updraft::suite;
using namespace updraft::cuda;

namespace {
struct GraphHandle;
struct GraphExec;

/// Functions of the CUDA driver that the library doesn't use.
struct MoreFunctions {
  Result (*beginCapture)(Queue *, CaptureMode) = nullptr;
  Result (*endCapture)(Queue *, GraphHandle **) = nullptr;
  Result (*graphInstantiate)(GraphExec **, GraphHandle *, unsigned long long) = nullptr;
  Result (*graphLaunch)(GraphExec *, Queue *) = nullptr;
  Result (*graphExecDestroy)(GraphExec *) = nullptr;
  Result (*graphDestroy)(GraphHandle *) = nullptr;
  Result (*elapsedTime)(float *, Event *, Event *) = nullptr;
  Result (*memGetInfo)(size_t *, size_t *) = nullptr;

  /// Looks the functions up in the driver library, which is loaded already.
  MoreFunctions() {
    const char *path = std::getenv("UPDRAFT_CUDA_DRIVER");
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto find = [&](auto &function, const char *symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          library ? dlsym(library, symbol) : nullptr);
      if (!function)
        throw Skipped(fmt::format("the CUDA driver has no function `{}`", symbol));
    };
    find(beginCapture, "cuStreamBeginCapture_v2");
    find(endCapture, "cuStreamEndCapture");
    find(graphInstantiate, "cuGraphInstantiateWithFlags");
    find(graphLaunch, "cuGraphLaunch");
    find(graphExecDestroy, "cuGraphExecDestroy");
    find(graphDestroy, "cuGraphDestroy");
    find(elapsedTime, "cuEventElapsedTime");
    find(memGetInfo, "cuMemGetInfo_v2");
  }
};

class Gpu : public Device {
public:
  Gpu(const Driver &driver, int ordinal) : driver(driver), ordinal(ordinal) {
    check(driver.deviceGet(&device, ordinal), "cannot get the GPU");
    char text[256] = {};
    check(driver.deviceGetName(text, sizeof(text), device), "cannot get the GPU's name");
    name = text;
    auto attribute = [&](Attribute which) {
      int value = 0;
      check(driver.deviceGetAttribute(&value, which, device), "cannot get an attribute");
      return value;
    };
    processors = attribute(multiprocessorCount);
    threadsOfProcessor = attribute(threadsPerMultiprocessor);
    major = attribute(computeCapabilityMajor);
    minor = attribute(computeCapabilityMinor);
    check(driver.primaryContextRetain(&context, device), "cannot use the GPU");
    Gpu::enterThread();
    check(driver.streamCreate(&queue, streamNonBlocking), "cannot create a stream");
    check(driver.eventCreate(&begin, 0), "cannot create an event");
    check(driver.eventCreate(&end, 0), "cannot create an event");
    const std::string ptx(touchPTX());
    check(driver.moduleLoadData(&module, ptx.c_str(), 0, nullptr, nullptr),
          "cannot load the limit's kernels");
  }
  ~Gpu() override { driver.primaryContextRelease(device); }

  upd_device kind() const override { return UPD_CUDA; }
  std::string target() const override { return fmt::format("cuda:{}", ordinal); }
  std::string architecture() const override {
    return major >= 10 ? "nvptx:sm_100" : major >= 9 ? "nvptx:sm_90" : "nvptx:sm_80";
  }
  nlohmann::ordered_json description() const override {
    size_t free = 0, total = 0;
    check(more.memGetInfo(&free, &total), "cannot get the memory size");
    return {{"kind", "cuda"},
            {"name", name},
            {"driver_cuda",
             fmt::format("{}.{}", driver.version() / 1000, driver.version() % 1000 / 10)},
            {"compute_capability", fmt::format("{}.{}", major, minor)},
            {"multiprocessors", processors},
            {"memory_bytes", total},
            {"free_bytes", free}};
  }
  size_t freeBytes() const override {
    size_t free = 0, total = 0;
    check(more.memGetInfo(&free, &total), "cannot get the memory size");
    return free;
  }
  void *stream() const override { return queue; }
  void enterThread() override { check(driver.contextPush(context), "cannot enter the context"); }

  void *allocate(size_t bytes) override {
    DevicePointer pointer = 0;
    check(driver.memAlloc(&pointer, bytes), fmt::format("cannot allocate {} bytes", bytes));
    return reinterpret_cast<void *>(pointer);
  }
  void release(void *memory) noexcept override { driver.memFree(pointerTo(memory)); }
  void write(void *memory, const void *from, size_t bytes) override {
    if (bytes != 0)
      check(driver.copyToDeviceAsync(pointerTo(memory), from, bytes, queue), "cannot write");
    wait();
  }
  void read(void *to, const void *memory, size_t bytes) override {
    if (bytes != 0)
      check(driver.copyToHostAsync(to, pointerTo(memory), bytes, queue), "cannot read");
    wait();
  }
  void wait() override {
    for (Queue *each : {static_cast<Queue *>(nullptr), queue})
      check(driver.streamSynchronize(each), "the stream failed");
  }

  std::unique_ptr<Graph> capture(const std::function<void()> &body) override;
  double timeMs(const std::function<void()> &body) override {
    check(driver.eventRecord(begin, queue), "cannot record an event");
    body();
    check(driver.eventRecord(end, queue), "cannot record an event");
    check(driver.eventSynchronize(end), "the stream failed");
    float ms = 0;
    check(more.elapsedTime(&ms, begin, end), "cannot get the time");
    return ms;
  }
  void touch(const std::vector<TouchedStream> &streams, int64_t elements, int shape) override;
  void launchNothing() override { launch("updraft_touch_nothing", 1, {}); }

  void check(Result result, const std::string &what) const {
    if (updraft::runtime::Status status = driver.check(result, what); !status.ok())
      throw std::runtime_error(status.message());
  }

  const Driver &driver;
  MoreFunctions more;
  Queue *queue = nullptr;

private:
  static DevicePointer pointerTo(const void *memory) {
    return reinterpret_cast<DevicePointer>(memory);
  }
  void launch(const std::string &kernel, int64_t blocks, TouchArguments arguments) {
    Function *&function = functions[kernel];
    if (!function)
      check(driver.moduleGetFunction(&function, module, kernel.c_str()), "cannot find " + kernel);
    void *values[] = {&arguments};
    check(driver.launchKernel(function, static_cast<unsigned>(blocks), 1, 1, blockThreads, 1, 1, 0,
                              queue, values, nullptr),
          "cannot launch " + kernel);
  }
  static constexpr int blockThreads = 256;

  int ordinal;
  DeviceNumber device = 0;
  std::string name;
  int processors = 0, threadsOfProcessor = 0, major = 0, minor = 0;
  Context *context = nullptr;
  Event *begin = nullptr, *end = nullptr;
  Image *module = nullptr;
  std::map<std::string, Function *> functions;
};

class GpuGraph : public Graph {
public:
  GpuGraph(Gpu &gpu, GraphHandle *graph) : gpu(gpu), graph(graph) {
    gpu.check(gpu.more.graphInstantiate(&executable, graph, 0), "cannot instantiate the graph");
  }
  ~GpuGraph() override {
    if (executable)
      gpu.more.graphExecDestroy(executable);
    gpu.more.graphDestroy(graph);
  }
  void launch() override {
    gpu.check(gpu.more.graphLaunch(executable, gpu.queue), "cannot launch the graph");
  }

private:
  Gpu &gpu;
  GraphHandle *graph;
  GraphExec *executable = nullptr;
};
} // namespace

std::unique_ptr<Graph> Gpu::capture(const std::function<void()> &body) {
  check(more.beginCapture(queue, captureThreadLocal), "cannot capture the stream");
  GraphHandle *graph = nullptr;
  try {
    body();
  } catch (...) {
    more.endCapture(queue, &graph);
    throw;
  }
  check(more.endCapture(queue, &graph), "the capture failed");
  return std::make_unique<GpuGraph>(*this, graph);
}

void Gpu::touch(const std::vector<TouchedStream> &streams, int64_t elements, int shape) {
  TouchArguments arguments{};
  const size_t written = streams.size() - 1;
  if (streams[0].written || written < 1 || written > 3)
    throw std::logic_error("no kernel for these streams");
  for (size_t i = 0; i < streams.size(); ++i)
    arguments.data[i] = streams[i].data;
  const int first = streams[0].bytesPerElement, last = streams.back().bytesPerElement;
  if (first != last && written != 3)
    throw std::logic_error("no kernel for these streams");
  const int narrow = std::min(first, last);
  arguments.units = elements * narrow / 16;
  std::string kernel = fmt::format("updraft_touch_{}", written);
  if (first != last) // param and grad have one width, and the two states another
    kernel = fmt::format("updraft_touch_{}_by_{}", first / narrow, last / narrow);
  else if (shape == 1)
    kernel += "_unrolled";
  const int64_t full = int64_t(processors) * (threadsOfProcessor / blockThreads);
  const int64_t all = (arguments.units + blockThreads - 1) / blockThreads;
  launch(kernel, std::max<int64_t>(shape == 2 ? all : std::min(all, full), 1), arguments);
}

std::unique_ptr<Device> updraft::suite::openCuda(int ordinal) {
  const Driver *driver = nullptr;
  if (updraft::runtime::Status status = Driver::load(driver); !status.ok())
    throw Skipped(status.message());
  if (ordinal >= driver->devices())
    throw Skipped(
        fmt::format("no GPU {}; the driver has {}, counted from 0", ordinal, driver->devices()));
  return std::make_unique<Gpu>(*driver, ordinal);
}
