//===- Devices.h - The devices of tensors in the C API ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CAPI_DEVICES_H
#define UPDRAFT_LIB_CAPI_DEVICES_H

#include "runtime/cuda/CudaDevice.h"
#include "runtime/optimizer/TensorDevice.h"

namespace updraft::capi {

/// For the emulator, each call opens a new device.
runtime::Status openDevice(const runtime::TensorDevice &where,
                           std::shared_ptr<gpu::Device> &device);
runtime::Status openCuda(int index, std::shared_ptr<cuda::CudaDevice> &device);

} // namespace updraft::capi

#endif // UPDRAFT_LIB_CAPI_DEVICES_H
