//===- Devices.cpp - The devices of tensors in the C API --------------------------------------===//

#include "runtime/capi/Devices.h"

#include "runtime/files/CacheLocation.h"
#include "runtime/kernels/EnginePTX.h"

using namespace updraft;

runtime::Status capi::openCuda(int index, std::shared_ptr<cuda::CudaDevice> &device) {
  const auto cache = files::CacheLocation::fromEnvironment();
  return cuda::CudaDevice::open(
      index, {cache.kernelFolder(), cache.maxBytes, std::string(gpu::enginePTX())}, device);
}

runtime::Status capi::openDevice(const runtime::Kernels &kernels, int index,
                                 std::shared_ptr<gpu::Device> &device) {
  if (kernels.gpu.openEmulator) {
    device = kernels.gpu.openEmulator();
    return {};
  }
  std::shared_ptr<cuda::CudaDevice> found;
  runtime::Status status = openCuda(index, found);
  device = std::move(found);
  return status;
}
