//===- PTXEmitter.h - From kernels to PTX -------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TARGET_PTXEMITTER_H
#define UPDRAFT_TARGET_PTXEMITTER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "updraft/Target/GPUTarget.h"

namespace updraft {

/// Returns the PTX of a module in the NVVM and LLVM dialects; LLVM runs in this process. The
/// module's MLIR context must have been created with `registerTargetDialects`.
llvm::Expected<std::string> emitPTX(mlir::gpu::GPUModuleOp module, const GPUTarget &target);

} // namespace updraft

#endif // UPDRAFT_TARGET_PTXEMITTER_H
