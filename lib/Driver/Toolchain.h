//===- Toolchain.h - The objects that compilations share ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_TOOLCHAIN_H
#define UPDRAFT_LIB_DRIVER_TOOLCHAIN_H

#include "PassObserver.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "updraft/Target/CPUTarget.h"
#include "updraft/Target/CodeGenerator.h"
#include "updraft/Target/GPUTarget.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace updraft {

/// Objects that are expensive to create and are reused by later compilations. Not thread-safe.
struct Toolchain {
  Toolchain();

  /// Objects for one CPU.
  struct ForTarget {
    ForTarget(mlir::MLIRContext &context, const CPUTarget &target);

    mlir::PassManager toLoops;
    std::unique_ptr<CodeGenerator> generator;       ///< null until code is generated
    std::unique_ptr<CodeGenerator> secondGenerator; ///< null until two threads generate code
  };
  ForTarget &forTarget(const CPUTarget &target);

  /// Lowers plans to kernels.
  mlir::PassManager &forTarget(const GPUTarget &target);

  mlir::MLIRContext context; ///< threads would cost more than they save on modules of this size
  mlir::PassManager toTorch;
  mlir::PassManager toPlan; ///< for a GPU
  mlir::PassManager toCPUPlan;
  mlir::PassManager toLLVM;
  mlir::PassManager toLineTables;
  mlir::PassManager toLineDirectives; ///< without tables for debuggers
  mlir::PassManager toNVVM;
  mlir::PassManager toEmulator;
  std::vector<PassObserver *> observers; ///< of the rule that is being compiled

private:
  llvm::StringMap<std::unique_ptr<ForTarget>> targets;
  llvm::StringMap<std::unique_ptr<mlir::PassManager>> toKernels; // by target
};

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_TOOLCHAIN_H
