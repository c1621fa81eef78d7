//===- Devices.cpp - GPUs and the emulator in the C API ---------------------------------------===//

#include "runtime/capi/Devices.h"

#include "runtime/cuda/CudaDevice.h"
#include "runtime/gpu/DeviceOptimizer.h"
#include "runtime/kernels/EnginePTX.h"

using namespace updraft;
using runtime::Status;

static Status openCuda(int index, std::shared_ptr<cuda::CudaDevice> &device) {
  return cuda::CudaDevice::open(index, std::string(gpu::enginePTX()), device);
}

Status capi::findGPU(int index, GPU &gpu) {
  std::shared_ptr<cuda::CudaDevice> device;
  if (Status status = openCuda(index, device); !status.ok())
    return status;
  gpu = {device->name(), device->computeMajor(), device->computeMinor()};
  return {};
}

Status capi::createOnDevice(runtime::TensorDevice where,
                            const std::shared_ptr<const runtime::Kernels> &kernels,
                            const upd_group *groups, size_t groupCount, const upd_pool *pool,
                            std::unique_ptr<runtime::Optimizer> &result) {
  std::shared_ptr<gpu::Device> device;
  if (kernels->gpu.openEmulator) {
    device = kernels->gpu.openEmulator();
  } else {
    std::shared_ptr<cuda::CudaDevice> found;
    if (Status status = openCuda(where.index, found); !status.ok())
      return status;
    device = std::move(found);
  }
  return gpu::DeviceOptimizer::create(std::move(device), where, kernels, groups, groupCount, pool,
                                      result);
}
