//===- CUDATools.h - Programs of the CUDA toolkit -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_CUDATOOLS_H
#define UPDRAFT_LIB_DRIVER_CUDATOOLS_H

#include "updraft/Target/GPUTarget.h"
#include "llvm/Support/Error.h"

#include <string>

namespace updraft {

/// Machine code of a GPU, and what ptxas says of each kernel in it.
struct AssembledPTX {
  std::string cubin;
  std::string report;
};

/// Runs `ptxas`: the one that $UPDRAFT_PTXAS names, or the first in PATH, in $CUDA_HOME/bin or,
/// where that is not set, in /usr/local/cuda/bin. UPD_NOT_FOUND if there is none, UPD_UNSUPPORTED
/// with its messages if it refuses the text.
llvm::Expected<AssembledPTX> assemblePTX(llvm::StringRef ptx, const GPUTarget &target);

/// Runs `nvdisasm`, or `cuobjdump` where there is none; $UPDRAFT_NVDISASM and $UPDRAFT_CUOBJDUMP
/// name them. Errors are those of `assemblePTX`.
llvm::Expected<std::string> disassemble(llvm::StringRef cubin);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_CUDATOOLS_H
