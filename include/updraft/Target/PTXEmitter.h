//===- PTXEmitter.h - From kernels to PTX -------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TARGET_PTXEMITTER_H
#define UPDRAFT_TARGET_PTXEMITTER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "updraft/Target/GPUTarget.h"

namespace updraft {

/// The text of a module that is in the NVVM and LLVM dialects, with LLVM in this process. Its MLIR
/// context must have been made with `registerTargetDialects`.
llvm::Expected<std::string> emitPTX(mlir::gpu::GPUModuleOp module, const GPUTarget &target);

} // namespace updraft

#endif // UPDRAFT_TARGET_PTXEMITTER_H
