//===- MemoryCheck.h - Whether there is memory enough to compile --------------------*- C++ -*-===//
// LLVM and MLIR are built without exceptions: where they get no memory, they end the process. So it
// is found out before whether a compilation can have what it may need at most. That holds for
// limits on address space (`ulimit -v`) and for systems that promise no more memory than they have
// (vm.overcommit_memory = 2); elsewhere the kernel ends a process when memory runs out, and no
// program is asked. Nor does it hold where other threads take the memory meanwhile.

#ifndef UPDRAFT_LIB_DRIVER_MEMORYCHECK_H
#define UPDRAFT_LIB_DRIVER_MEMORYCHECK_H

#include "llvm/Support/Error.h"

namespace updraft {

/// What parsing and importing take, of the largest file that there may be.
constexpr size_t bytesToParse = size_t(8) << 20;
/// What compiling takes of any rule: an MLIR context, code generators, and the stacks of two
/// threads. The smallest rule was measured to take a third of it.
constexpr size_t bytesToCompile = size_t(48) << 20;
/// And of one planned operation. The rules of CompileTimeTest.cpp take up to 9 KB.
constexpr size_t bytesPerOperation = size_t(12) << 10;

/// Fails with UPD_OUT_OF_MEMORY if the process cannot have so many more bytes at this moment.
llvm::Error requireMemory(size_t bytes);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_MEMORYCHECK_H
