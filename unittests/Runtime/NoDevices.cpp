//===- NoDevices.cpp - The C API without GPUs -------------------------------------------------===//
// Replaces lib/CAPI/Devices.cpp, which needs the compiler.

#include "lib/CAPI/Devices.h"

updraft::runtime::Status updraft::capi::openDevice(const runtime::TensorDevice &where,
                                                   std::shared_ptr<gpu::Device> &device) {
  return {UPD_UNSUPPORTED, "there is no " + where.text() + " in this test"};
}
