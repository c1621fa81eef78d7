//===- Driver.cpp - The CUDA driver, loaded at run time ---------------------------------------===//

#include "runtime/cuda/Driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <string_view>
#include <type_traits>
#include <unistd.h>

using namespace updraft::cuda;
using updraft::runtime::Status;

static Status unsupported(std::string text) { return {UPD_UNSUPPORTED, std::move(text)}; }

Status Driver::load(const Driver *&driver) {
  // Never destroyed, because other threads may use the driver while the process exits.
  struct Loaded {
    std::unique_ptr<Driver> driver;
    Status status;
  };
  static const Loaded &loaded = *[] {
    auto *result = new Loaded;
    const char *path = std::getenv("UPDRAFT_CUDA_DRIVER");
    result->status = open(path && *path ? path : "libcuda.so.1", result->driver);
    return result;
  }();
  driver = loaded.driver.get();
  return loaded.status;
}

Status Driver::open(const std::string &path, std::unique_ptr<Driver> &driver) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return unsupported(fmt::format("cannot load the CUDA driver `{}`: {}; GPUs need NVIDIA's "
                                   "driver, which `nvidia-smi` shows where it is installed",
                                   path, reason ? reason : "unknown error"));
  }
  auto opened = std::make_unique<Driver>();
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (!function && !missing)
      missing = symbol;
  };
#define UPDRAFT_CUDA_FUNCTION(name, symbol, parameters) find(opened->name, #symbol);
#include "runtime/cuda/DriverFunctions.def"
  if (missing)
    return unsupported(fmt::format("the CUDA driver `{}` has no function `{}`; Updraft needs a "
                                   "driver for CUDA 12 or later, which `nvidia-smi` shows",
                                   path, missing));
  if (Status status = opened->start(path); !status.ok())
    return status;
  driver = std::move(opened);
  return {};
}

Status Driver::start(const std::string &path) {
  constexpr const char *noDevice =
      "`nvidia-smi` lists the GPUs that there are, and CUDA_VISIBLE_DEVICES chooses among them";
  Result result = init(0);
  if (result == errorNoDevice)
    return unsupported(
        fmt::format("the CUDA driver `{}` finds no GPU: {}; {}", path, textOf(result), noDevice));
  if (result == success)
    result = driverGetVersion(&driverVersion);
  if (result == success)
    result = deviceGetCount(&deviceCount);
  if (result != success)
    return unsupported(fmt::format("the CUDA driver `{}` does not start: {}; `nvidia-smi` says "
                                   "whether it works for others",
                                   path, textOf(result)));
  if (deviceCount < 1)
    return unsupported(fmt::format("the CUDA driver `{}` finds no GPU; {}", path, noDevice));
  process = getpid();
  return {};
}

std::string Driver::textOf(Result error) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(error, &name) != success || !name)
    return fmt::format("CUDA's error {}", static_cast<int>(error));
  if (getErrorString(error, &text) != success || !text)
    return name;
  std::string_view sentence = text;
  while (sentence.ends_with('.'))
    sentence.remove_suffix(1);
  return fmt::format("{}, {}", name, sentence);
}

static upd_status codeOf(Result error) {
  if (error == errorOutOfMemory)
    return UPD_OUT_OF_MEMORY;
  if (error == errorNotFound)
    return UPD_NOT_FOUND;
  const bool isCapture = error >= errorCaptureUnsupported && error <= errorCaptureWrongThread;
  if (isCapture)
    return UPD_UNSUPPORTED;
  switch (error) {
  case errorDeviceUnavailable:
  case errorNoDevice:
  case errorNoBinaryForGpu:
  case errorJitCompilerNotFound:
  case errorUnsupportedPtxVersion:
    return UPD_UNSUPPORTED;
  default:
    return UPD_INTERNAL_ERROR;
  }
}

static bool isOfEarlierKernel(Result error) {
  return error == errorIllegalAddress || error == errorAssert ||
         (error >= errorHardwareStack && error <= errorLaunchFailed);
}

Status Driver::check(Result result, const std::string &what) const {
  if (result == success)
    return {};
  std::string text = fmt::format("{}: {}", what, textOf(result));
  if (result == errorNotInitialized && getpid() != process)
    text += "; this process was forked from one that uses CUDA, which does not survive that: start "
            "processes with `spawn`";
  if (isOfEarlierKernel(result))
    text += "; this may come from any kernel that was launched before: CUDA_LAUNCH_BLOCKING=1 has "
            "the error come from the one that made it";
  return {codeOf(result), std::move(text)};
}
