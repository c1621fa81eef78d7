//===- ExplainKernels.h - Resources of kernels on a GPU -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_EXPLAINKERNELS_H
#define UPDRAFT_LIB_DRIVER_EXPLAINKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "updraft/Target/GPUTarget.h"

namespace updraft {

/// Prints the resources that each kernel of a module in the NVVM dialect needs, from ptxas, and the
/// resulting occupancy. Without ptxas, prints only the known facts, and that ptxas is missing.
llvm::Error explainKernels(mlir::gpu::GPUModuleOp module, const GPUTarget &target,
                           llvm::raw_ostream &os);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_EXPLAINKERNELS_H
