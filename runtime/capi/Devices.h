//===- Devices.h - The devices of tensors in the C API ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CAPI_DEVICES_H
#define UPDRAFT_RUNTIME_CAPI_DEVICES_H

#include "runtime/base/EmulatorDevice.h"
#include "runtime/base/Kernels.h"
#include "runtime/optimizer/Optimizer.h"
#include "runtime/optimizer/TensorDevice.h"

#include <memory>
#include <string>

namespace updraft::capi {

/// Returns the device of the tensors that a rule steps. A rule for the emulator also has code for
/// the CPU.
inline upd_device deviceOf(const runtime::Kernels &kernels) {
  if (kernels.interface.gpu.empty())
    return UPD_CPU;
  return kernels.gpu.ptx.empty() ? runtime::emulatorDevice : UPD_CUDA;
}

/// A GPU of this machine. Its compute capability is `major`.`minor`.
struct GPU {
  std::string name;
  int major = 0;
  int minor = 0;
};

// The functions below return UPD_UNSUPPORTED in a build without GPUs (UPDRAFT_CUDA).

/// Describes the GPU with this number.
runtime::Status findGPU(int index, GPU &gpu);

/// Creates an optimizer on a GPU, or on an emulator if the kernels are for one.
runtime::Status createOnDevice(runtime::TensorDevice where,
                               const std::shared_ptr<const runtime::Kernels> &kernels,
                               const upd_group *groups, size_t groupCount, const upd_pool *pool,
                               std::unique_ptr<runtime::Optimizer> &result);

} // namespace updraft::capi

#endif // UPDRAFT_RUNTIME_CAPI_DEVICES_H
