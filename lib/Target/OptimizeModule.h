//===- OptimizeModule.h - LLVM's passes on loops in their final form ----------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_TARGET_OPTIMIZEMODULE_H
#define UPDRAFT_LIB_TARGET_OPTIMIZEMODULE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace updraft {

/// A short pipeline, for functions that are not marked `optnone`: nothing is vectorised or
/// unrolled.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace updraft

#endif // UPDRAFT_LIB_TARGET_OPTIMIZEMODULE_H
