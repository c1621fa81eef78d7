//===- Devices.h - The devices of tensors in the C API ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CAPI_DEVICES_H
#define UPDRAFT_RUNTIME_CAPI_DEVICES_H

#include "runtime/base/EmulatorDevice.h"
#include "runtime/base/Kernels.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/optimizer/TensorDevice.h"

namespace updraft::capi {

/// Returns the device of the tensors that a rule steps. A rule for the emulator also has code for
/// the CPU.
inline upd_device deviceOf(const runtime::Kernels &kernels) {
  if (kernels.interface.gpu.empty())
    return UPD_CPU;
  return kernels.gpu.ptx.empty() ? runtime::emulatorDevice : UPD_CUDA;
}

/// Opens the GPU with this number, or an emulator, for the kernels of a rule.
runtime::Status openDevice(const runtime::Kernels &kernels, int index,
                           std::shared_ptr<gpu::Device> &device);
runtime::Status openCuda(int index, std::shared_ptr<cuda::CudaDevice> &device);

} // namespace updraft::capi

#endif // UPDRAFT_RUNTIME_CAPI_DEVICES_H
