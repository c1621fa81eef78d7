//===- CudaDevice.cpp - An NVIDIA GPU ---------------------------------------------------------===//

#include "runtime/cuda/CudaDevice.h"

#include "runtime/timeline/Span.h"
#include "updraft-c/gpu_kernel.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

using namespace updraft::cuda;
using updraft::runtime::invalidArgument;
using updraft::runtime::Status;

static DevicePointer addressOf(const void *memory) {
  return reinterpret_cast<DevicePointer>(memory);
}
static Queue *queueOf(updraft::gpu::Stream stream) { return static_cast<Queue *>(stream); }

/// Makes the device's context current in the thread, and allows calls that CUDA forbids while a
/// graph is captured anywhere in the process. No call here becomes part of another stream's graph.
class CudaDevice::Scope {
public:
  explicit Scope(const CudaDevice &device) : driver(device.driver) {
    pushed = driver.contextPush(device.context);
    if (pushed == success)
      exchanged = driver.exchangeCaptureMode(&mode);
    text = &device.target.name;
  }
  ~Scope() {
    if (exchanged == success)
      (void)driver.exchangeCaptureMode(&mode);
    Context *popped = nullptr;
    if (pushed == success)
      (void)driver.contextPop(&popped);
  }
  Scope(const Scope &) = delete;

  Status status() const {
    const Result result = pushed == success ? exchanged : pushed;
    return result == success ? Status() : driver.check(result, fmt::format("cannot use {}", *text));
  }

private:
  const Driver &driver;
  const std::string *text;
  CaptureMode mode = captureRelaxed;
  Result pushed, exchanged = errorNotInitialized;
};

/// Looks its kernels up once, and keeps their names for messages.
class CudaDevice::CudaModule : public gpu::Module {
public:
  struct NamedFunction {
    std::string name;
    Function *function;
  };

  CudaModule(std::shared_ptr<const CudaDevice> device, std::unique_ptr<LoadedImage> image)
      : device(std::move(device)), image(std::move(image)) {}
  ~CudaModule() override {
    Scope scope(*device);
    image.reset();
  }

  Status find(const std::string &name, gpu::Kernel &kernel) override {
    std::lock_guard lock(mutex);
    auto found = functions.find(name);
    if (found == functions.end()) {
      Scope scope(*device);
      if (Status status = scope.status(); !status.ok())
        return status;
      Function *function = nullptr;
      Status status = device->driver.check(
          image->find(name, function),
          fmt::format("cannot find the kernel `{}` on {}", name, device->target.name));
      if (!status.ok())
        return status;
      found = functions.emplace(name, NamedFunction{name, function}).first;
    }
    kernel = &found->second;
    return {};
  }

private:
  std::shared_ptr<const CudaDevice> device;
  std::unique_ptr<LoadedImage> image;
  std::mutex mutex;
  std::map<std::string, NamedFunction, std::less<>> functions;
};

Status CudaDevice::open(int ordinal, const std::string &enginePtx,
                        std::shared_ptr<CudaDevice> &device) {
  const Driver *driver = nullptr;
  if (Status status = Driver::load(driver); !status.ok())
    return status;
  // Never destroyed, because static destructors may run after the driver is gone.
  static auto &mutex = *new std::mutex;
  static auto &opened = *new std::map<int, std::shared_ptr<CudaDevice>>;
  std::lock_guard lock(mutex);
  if (auto found = opened.find(ordinal); found != opened.end()) {
    device = found->second;
    return {};
  }
  if (Status status = make(*driver, ordinal, enginePtx, device); !status.ok())
    return status;
  opened.emplace(ordinal, device);
  return {};
}

Status CudaDevice::make(const Driver &driver, int ordinal, const std::string &enginePtx,
                        std::shared_ptr<CudaDevice> &device) {
  if (ordinal < 0 || ordinal >= driver.devices())
    return invalidArgument(
        fmt::format("there is no CUDA device {}; there {} 0{}, after "
                    "CUDA_VISIBLE_DEVICES",
                    ordinal, driver.devices() == 1 ? "is" : "are",
                    driver.devices() == 1 ? "" : fmt::format(" to {}", driver.devices() - 1)));
  DeviceNumber number = 0;
  Status status = driver.check(driver.deviceGet(&number, ordinal),
                               fmt::format("cannot use CUDA device {}", ordinal));
  if (!status.ok())
    return status;
  std::shared_ptr<CudaDevice> made(new CudaDevice(driver, number));
  if (status = made->start(enginePtx); !status.ok())
    return status;
  device = std::move(made);
  return {};
}

Status CudaDevice::start(const std::string &engine) {
  char text[256] = {};
  int processors = 0, threads = 0;
  Result result = driver.deviceGetName(text, sizeof(text) - 1, number);
  const auto get = [&](int &value, Attribute attribute) {
    if (result == success)
      result = driver.deviceGetAttribute(&value, attribute, number);
  };
  get(processors, multiprocessorCount);
  get(threads, threadsPerMultiprocessor);
  get(target.major, computeCapabilityMajor);
  get(target.minor, computeCapabilityMinor);
  if (result == success)
    result = driver.primaryContextRetain(&context, number);
  target.name = *text ? text : "a CUDA device";
  Status status = driver.check(result, fmt::format("cannot use {}", target.name));
  if (!status.ok()) {
    context = nullptr;
    return status;
  }
  blocks = std::max<int64_t>(1, int64_t(processors) * (threads / UPD_GPU_THREADS));
  enginePtx = engine;
  staging = std::make_unique<StagingMemory>(driver);
  return {};
}

CudaDevice::~CudaDevice() {
  if (!context)
    return;
  {
    Scope scope(*this);
    staging.reset();
    if (queue)
      (void)driver.streamDestroy(queue);
  }
  (void)driver.primaryContextRelease(number);
}

Status CudaDevice::allocate(size_t bytes, void **memory) {
  Scope scope(*this);
  if (Status status = scope.status(); !status.ok())
    return status;
  DevicePointer allocated = 0;
  // The driver refuses zero bytes.
  Status status = driver.check(driver.memAlloc(&allocated, std::max<size_t>(bytes, 1)),
                               fmt::format("cannot allocate {} bytes on {}", bytes, target.name));
  if (status.ok())
    *memory = reinterpret_cast<void *>(allocated);
  return status;
}

void CudaDevice::release(void *memory) noexcept {
  if (!memory)
    return;
  Scope scope(*this);
  (void)driver.memFree(addressOf(memory));
}

Status CudaDevice::allocateShared(size_t bytes, std::shared_ptr<void> &memory) {
  Scope scope(*this);
  if (Status status = scope.status(); !status.ok())
    return status;
  void *allocated = nullptr;
  // With unified addresses, such memory has the same address on the device.
  Status status = driver.check(driver.hostAlloc(&allocated, bytes, hostMemoryPortable),
                               fmt::format("cannot share {} bytes with {}", bytes, target.name));
  if (!status.ok())
    return status;
  std::memset(allocated, 0, bytes);
  memory.reset(allocated, [device = shared_from_this()](void *shared) {
    Scope scope(*device);
    (void)device->driver.hostFree(shared);
  });
  return {};
}

Status CudaDevice::checkNotCaptured(Queue *stream, const std::string &what,
                                    const char *reason) const {
  CaptureStatus captured = notCapturing;
  Status status = driver.check(driver.streamIsCapturing(stream, &captured), what);
  if (status.ok() && captured != notCapturing)
    return {UPD_UNSUPPORTED, fmt::format("{} while a graph is captured: {}", what, reason)};
  return status;
}

Status CudaDevice::zero(void *memory, size_t bytes, gpu::Stream stream) {
  if (bytes == 0)
    return {};
  Scope scope(*this);
  if (Status status = scope.status(); !status.ok())
    return status;
  return driver.check(driver.memsetAsync(addressOf(memory), 0, bytes, queueOf(stream)),
                      fmt::format("cannot zero {} bytes on {}", bytes, target.name));
}

Status CudaDevice::write(void *memory, const void *from, size_t bytes, gpu::Stream stream) {
  if (bytes == 0)
    return {};
  Scope scope(*this);
  if (Status status = scope.status(); !status.ok())
    return status;
  const std::string what = fmt::format("cannot write {} bytes to {}", bytes, target.name);
  Status status = checkNotCaptured(queueOf(stream), what,
                                   "replayed, it would write what the host has by then; do it "
                                   "before the capture");
  if (!status.ok())
    return status;
  return driver.check(staging->copy(addressOf(memory), from, bytes, queueOf(stream)), what);
}

static constexpr const char *nothingRuns =
    "nothing runs until it is replayed; do it before the capture or after";

Status CudaDevice::read(void *to, const void *memory, size_t bytes, gpu::Stream stream) {
  if (bytes == 0)
    return {};
  Scope scope(*this);
  if (Status status = scope.status(); !status.ok())
    return status;
  const std::string what = fmt::format("cannot read {} bytes from {}", bytes, target.name);
  if (Status status = checkNotCaptured(queueOf(stream), what, nothingRuns); !status.ok())
    return status;
  Result result = driver.copyToHostAsync(to, addressOf(memory), bytes, queueOf(stream));
  if (result == success) {
    const timeline::Span span("wait", "wait for the GPU");
    result = driver.streamSynchronize(queueOf(stream));
  }
  return driver.check(result, what);
}

Status CudaDevice::wait(gpu::Stream stream) {
  Scope scope(*this);
  if (Status status = scope.status(); !status.ok())
    return status;
  const std::string what = fmt::format("cannot wait for {}", target.name);
  if (Status status = checkNotCaptured(queueOf(stream), what, nothingRuns); !status.ok())
    return status;
  const timeline::Span span("wait", "wait for the GPU");
  return driver.check(driver.streamSynchronize(queueOf(stream)), what);
}

Status CudaDevice::isCaptured(gpu::Stream stream, bool &captured) {
  Scope scope(*this);
  if (Status status = scope.status(); !status.ok())
    return status;
  CaptureStatus found = notCapturing;
  const Result result = driver.streamIsCapturing(queueOf(stream), &found);
  captured = found != notCapturing;
  return result == success
             ? Status()
             : driver.check(result, fmt::format("cannot use a stream of {}", target.name));
}

Status CudaDevice::ownStream(gpu::Stream &stream) {
  std::call_once(ownStreamMade, [&] {
    Scope scope(*this);
    ownStreamStatus = scope.status();
    if (ownStreamStatus.ok())
      ownStreamStatus = driver.check(driver.streamCreate(&queue, streamNonBlocking),
                                     fmt::format("cannot make a stream on {}", target.name));
  });
  stream = queue;
  return ownStreamStatus;
}

Status CudaDevice::loadPtx(const std::string &ptx, std::shared_ptr<gpu::Module> &module) {
  // Held while the driver compiles, so that several threads don't compile the same module.
  std::lock_guard lock(modulesMutex);
  if (auto found = modules.find(ptx); found != modules.end()) {
    if (std::shared_ptr<CudaModule> alive = found->second.lock()) {
      module = std::move(alive);
      return {};
    }
  }
  std::erase_if(modules, [](const auto &entry) { return entry.second.expired(); });
  std::unique_ptr<LoadedImage> image;
  {
    Scope scope(*this);
    if (Status status = scope.status(); !status.ok())
      return status;
    if (Status status = LoadedImage::load(driver, target, ptx, image); !status.ok())
      return status;
  }
  auto loaded = std::make_shared<CudaModule>(shared_from_this(), std::move(image));
  modules[ptx] = loaded;
  module = std::move(loaded);
  return {};
}

Status CudaDevice::load(const runtime::GPUKernels &kernels, std::shared_ptr<gpu::Module> &module) {
  if (kernels.ptx.empty())
    return {UPD_UNSUPPORTED,
            fmt::format("the rule was not compiled for {}; compile it for `nvptx:sm_{}{}`",
                        target.name, target.major, target.minor)};
  return loadPtx(kernels.ptx, module);
}

Status CudaDevice::loadEngine(std::shared_ptr<gpu::Module> &module) {
  if (enginePtx.empty())
    return {UPD_UNSUPPORTED, fmt::format("this build of Updraft has no kernels of the engine for "
                                         "{}; build it with them",
                                         target.name)};
  return loadPtx(enginePtx, module);
}

Status CudaDevice::launch(gpu::Kernel kernel, int64_t blocks, void **arguments,
                          gpu::Stream stream) {
  if (blocks <= 0)
    return {};
  const auto &launched = *static_cast<const CudaModule::NamedFunction *>(kernel);
  const timeline::Span span("launch",
                            [&](timeline::Event &event) { event.name("launch ", launched.name); });
  Scope scope(*this);
  if (Status status = scope.status(); !status.ok())
    return status;
  // Kernels accept any number of blocks, so one grid is always enough.
  const auto grid =
      static_cast<unsigned>(std::min<int64_t>(blocks, std::numeric_limits<int32_t>::max()));
  const Result result = driver.launchKernel(launched.function, grid, 1, 1, UPD_GPU_THREADS, 1, 1, 0,
                                            queueOf(stream), arguments, nullptr);
  if (result == success)
    return {};
  return driver.check(result, fmt::format("cannot launch `{}` on {}", launched.name, target.name));
}
