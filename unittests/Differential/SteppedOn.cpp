//===- SteppedOn.cpp - The devices to step rules on -------------------------------------------===//

#include "SteppedOn.h"

#include "runtime/base/DType.h"
#include "runtime/base/ElementComparison.h"
#include "runtime/base/EmulatorDevice.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/kernels/EnginePTX.h"

#include "updraft/Driver/Compiler.h"

using namespace updraft;
using namespace updraft::differential;

SteppedOn SteppedOn::open(const std::string &name) {
  if (name == "emulator")
    return {std::make_shared<emulator::EmulatedDevice>(), runtime::emulatorDevice, "emulator", ""};
  std::shared_ptr<cuda::CudaDevice> device;
  const runtime::Status status = cuda::CudaDevice::open(0, std::string(gpu::enginePTX()), device);
  if (!status.ok())
    return {nullptr, UPD_CUDA, "", status.message()};
  return {
      device, UPD_CUDA,
      llvm::cantFail(GPUTarget::forCapability(device->computeMajor(), device->computeMinor())).name,
      ""};
}

bool SteppedOn::has(const void *data, upd_dtype dtype, const void *expected, size_t bytes) const {
  std::vector<char> read(bytes);
  const runtime::Status status = device->read(read.data(), data, bytes, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  // Blocks of codes have scales behind them.
  const runtime::SafetensorsType type =
      runtime::isBlocked(dtype) ? runtime::SafetensorsType::U8 : runtime::safetensorsType(dtype);
  const size_t count = bytes / runtime::sizeOf(type);
  return runtime::firstDifference(type, read.data(), expected, count) == count;
}

std::vector<const char *> SteppedOn::names() {
  std::vector<const char *> names = {"emulator"};
  if (open("cuda").device)
    names.push_back("cuda");
  return names;
}
