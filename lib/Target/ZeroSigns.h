//===- ZeroSigns.h - Choices between 1 and -0 on GPUs -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_TARGET_ZEROSIGNS_H
#define UPDRAFT_LIB_TARGET_ZEROSIGNS_H

namespace llvm {
class Module;
} // namespace llvm

namespace updraft {

/// Makes `select`s with the constant -0 select bits. The assembler of CUDA 13.0 to 13.5 compiles a
/// choice between the floats 1 and -0 to the instruction FSET, which gives 1 or +0. Run this after
/// LLVM's optimizations, which would undo it.
void keepZeroSigns(llvm::Module &module);

} // namespace updraft

#endif // UPDRAFT_LIB_TARGET_ZEROSIGNS_H
