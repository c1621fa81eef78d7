//===- CUDATools.h - Programs of the CUDA toolkit -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_CUDATOOLS_H
#define UPDRAFT_LIB_DRIVER_CUDATOOLS_H

#include "updraft/Target/GPUTarget.h"
#include "llvm/Support/Error.h"

#include <string>

namespace updraft {

/// Machine code of a GPU, and ptxas's report on each of its kernels.
struct AssembledPTX {
  std::string cubin;
  std::string report;
};

/// Runs `ptxas`: the program that $UPDRAFT_PTXAS names, or the first in PATH or in $CUDA_HOME/bin
/// (default: /usr/local/cuda/bin). Fails with UPD_NOT_FOUND if there is none, and with
/// UPD_UNSUPPORTED and ptxas's messages if it rejects the text.
llvm::Expected<AssembledPTX> assemblePTX(llvm::StringRef ptx, const GPUTarget &target);

/// Runs `nvdisasm`, or `cuobjdump` if there is none. $UPDRAFT_NVDISASM and $UPDRAFT_CUOBJDUMP name
/// them. Fails like `assemblePTX`.
llvm::Expected<std::string> disassemble(llvm::StringRef cubin);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_CUDATOOLS_H
