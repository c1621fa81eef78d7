//===- MemoryCheck.h - Checks for enough memory to compile --------------------------*- C++ -*-===//
// LLVM and MLIR are built without exceptions: they abort when an allocation fails. So the compiler
// checks first that it can allocate the most that a compilation may need. The check works for
// limits on address space (`ulimit -v`) and for systems that don't overcommit memory
// (vm.overcommit_memory = 2). Elsewhere the kernel kills a process when memory runs out. The check
// can't account for memory that other threads of the program allocate during a compilation.

#ifndef UPDRAFT_LIB_DRIVER_MEMORYCHECK_H
#define UPDRAFT_LIB_DRIVER_MEMORYCHECK_H

#include "PlanSize.h"
#include "llvm/Support/Error.h"

namespace updraft {

/// For parsing and importing the largest file that the limits allow.
constexpr size_t bytesToParse = size_t(8) << 20;
/// For compiling any rule: an MLIR context and code generators. The smallest rule takes a third of
/// it.
constexpr size_t bytesToCompile = size_t(48) << 20;
/// For each planned operation. The rules of CompileTimeTest.cpp take up to 9 KB.
constexpr size_t bytesPerOperation = size_t(12) << 10;
/// For the stack of a second thread. LLVM's recursions need one as large as the main thread's.
constexpr size_t stackBytes = size_t(8) << 20;
/// For a second thread and the largest compilation beside it. glibc gives each thread its own heap,
/// for which it maps 128 MiB of addresses and keeps 64 MiB.
constexpr size_t bytesForSecondThread =
    stackBytes + (size_t(128) << 20) + bytesToCompile + bytesPerOperation * maxPlannedOperations;

/// Whether the process can allocate `bytes` more bytes at this moment.
bool canAllocate(size_t bytes);
/// Fails with UPD_OUT_OF_MEMORY if the process can't allocate `bytes` more bytes at this moment.
llvm::Error requireMemory(size_t bytes);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_MEMORYCHECK_H
