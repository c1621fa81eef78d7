//===- OptimizeModule.h - LLVM's passes on loops in their final form ----------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_TARGET_OPTIMIZEMODULE_H
#define UPDRAFT_LIB_TARGET_OPTIMIZEMODULE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace updraft {

/// Runs a short pipeline on functions that are not marked `optnone`. Does not vectorise or unroll.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace updraft

#endif // UPDRAFT_LIB_TARGET_OPTIMIZEMODULE_H
