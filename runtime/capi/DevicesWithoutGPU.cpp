//===- DevicesWithoutGPU.cpp - A build without GPUs -------------------------------------------===//

#include "runtime/capi/Devices.h"

using namespace updraft;
using runtime::Status;

static Status unsupported() {
  return {UPD_UNSUPPORTED, "this build of the library has no support for GPUs (UPDRAFT_CUDA=OFF)"};
}

Status capi::findGPU(int index, GPU &gpu) { return unsupported(); }

Status capi::createOnDevice(runtime::TensorDevice where,
                            const std::shared_ptr<const runtime::Kernels> &kernels,
                            const upd_group *groups, size_t groupCount, const upd_pool *pool,
                            std::unique_ptr<runtime::Optimizer> &result) {
  return unsupported();
}
