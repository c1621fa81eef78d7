//===- Devices.cpp - The devices of tensors in the C API --------------------------------------===//

#include "Devices.h"

#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/kernels/EnginePTX.h"
#include "updraft/Driver/DiskCache.h"

using namespace updraft;

runtime::Status capi::openCuda(int index, std::shared_ptr<cuda::CudaDevice> &device) {
  const DiskCache cache = DiskCache::fromEnvironment();
  return cuda::CudaDevice::open(
      index, {cache.getKernelFolder(), cache.getMaxBytes(), std::string(gpu::enginePTX())}, device);
}

runtime::Status capi::openDevice(const runtime::TensorDevice &where,
                                 std::shared_ptr<gpu::Device> &device) {
  if (where.kind == runtime::emulatorDevice) {
    device = std::make_shared<emulator::EmulatedDevice>();
    return {};
  }
  std::shared_ptr<cuda::CudaDevice> found;
  runtime::Status status = openCuda(where.index, found);
  device = std::move(found);
  return status;
}
