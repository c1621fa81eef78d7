//===- ExplainKernels.h - What kernels need of a GPU --------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_EXPLAINKERNELS_H
#define UPDRAFT_LIB_DRIVER_EXPLAINKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "updraft/Target/GPUTarget.h"

namespace updraft {

/// Prints what each kernel of a module in the NVVM dialect needs of the target, by ptxas, and how
/// much of it then is busy; without a ptxas only what is known, and that there is none.
llvm::Error explainKernels(mlir::gpu::GPUModuleOp module, const GPUTarget &target,
                           llvm::raw_ostream &os);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_EXPLAINKERNELS_H
