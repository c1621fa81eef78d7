//===- TensorDevice.h - The device of a tensor --------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_TENSORDEVICE_H
#define UPDRAFT_RUNTIME_OPTIMIZER_TENSORDEVICE_H

#include "runtime/base/EmulatorDevice.h"
#include "updraft-c/types.h"

#include <cstdint>
#include <string>

namespace updraft::runtime {

/// A device of the C API. Only CUDA devices have different indices.
struct TensorDevice {
  upd_device kind = UPD_CPU; ///< a caller may pass any number
  int32_t index = 0;
  bool isOnlyOne = false; ///< the rule has code only for this device

  static TensorDevice of(const upd_tensor &tensor) {
    const upd_device kind = tensor.device;
    return {kind, kind == UPD_CUDA ? tensor.device_index : 0};
  }
  bool has(const upd_tensor &tensor) const {
    return tensor.device == kind && (kind != UPD_CUDA || tensor.device_index == index);
  }
  bool isCpu() const { return kind == UPD_CPU; }

  /// "the CPU", "cuda:1".
  std::string text() const {
    switch (int32_t{kind}) {
    case UPD_CPU:
      return "the CPU";
    case UPD_CUDA:
      return "cuda:" + std::to_string(index);
    case emulatorDevice:
      return "the emulator";
    // Other types of DLPack.
    case 3:
      return "the host, in pinned memory";
    case 10:
      return "a GPU of ROCm";
    case 13:
      return "the host and GPUs, in managed memory";
    default:
      return "a device that Updraft does not know, type " + std::to_string(kind) + " of DLPack";
    }
  }
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_TENSORDEVICE_H
