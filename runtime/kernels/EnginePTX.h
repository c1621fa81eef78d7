//===- EnginePTX.h - The kernels of the engine as PTX -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_KERNELS_ENGINEPTX_H
#define UPDRAFT_RUNTIME_KERNELS_ENGINEPTX_H

#include <string_view>

namespace updraft::gpu {

/// runtime/kernels/EngineKernels.h, for sm_80 and later.
std::string_view enginePTX();

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_KERNELS_ENGINEPTX_H
