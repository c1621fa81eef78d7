//===- EmulatorDevice.h - The device type of the emulator ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_EMULATORDEVICE_H
#define UPDRAFT_RUNTIME_BASE_EMULATORDEVICE_H

#include "updraft-c/types.h"

namespace updraft::runtime {

/// Memory of this process, in which the CPU emulates GPU kernels, for tests on machines without a
/// GPU. The value is DLPack's kDLExtDev, which is reserved for tests.
constexpr upd_device emulatorDevice = static_cast<upd_device>(12);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_EMULATORDEVICE_H
