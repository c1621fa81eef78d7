//===- KernelThread.h - The current thread of a kernel ------------------------------*- C++ -*-===//
// Makes the same source compile for NVIDIA GPUs and for the emulator.

#ifndef UPDRAFT_RUNTIME_KERNELS_KERNELTHREAD_H
#define UPDRAFT_RUNTIME_KERNELS_KERNELTHREAD_H

#include "updraft-c/gpu_kernel.h"

#include <stdint.h>

#if defined(__NVPTX__)
/// Declares a kernel with its name and arguments.
#define UPD_GPU_KERNEL extern "C" __attribute__((nvptx_kernel)) void
/// Memory shared by the threads of a block.
#define UPD_GPU_SHARED static __attribute__((address_space(3)))
/// Qualifies the type of a pointer or reference to such memory.
#define UPD_GPU_SHARED_TYPE __attribute__((address_space(3)))
#define UPD_EMULATED_KERNEL(name)
#else
#include "runtime/kernels/EmulatedThread.h"
#define UPD_GPU_KERNEL extern "C" void
#define UPD_GPU_SHARED static thread_local
#define UPD_GPU_SHARED_TYPE
/// The function that the emulator calls.
#define UPD_EMULATED_KERNEL(name)                                                                  \
  extern "C" void name##_kernel(void **arguments) { updraft::gpu::callWith(name, arguments); }
#endif

namespace updraft::gpu {

#if defined(__NVPTX__)
inline int64_t threadOfBlock() { return __nvvm_read_ptx_sreg_tid_x(); }
inline int64_t blockOfGrid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
inline int64_t blocksOfGrid() { return __nvvm_read_ptx_sreg_nctaid_x(); }
/// Waits for all threads of the block.
inline void barrier() { __nvvm_bar_sync(0); }
/// Orders accesses of the thread before it, as the host sees them, before those after it.
inline void fenceForHost() { __nvvm_membar_sys(); }
#else
inline int64_t threadOfBlock() { return updraft_emulator_thread(); }
inline int64_t blockOfGrid() { return updraft_emulator_block(); }
inline int64_t blocksOfGrid() { return updraft_emulator_blocks(); }
inline void barrier() { updraft_emulator_barrier(); }
inline void fenceForHost() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

template <typename A, typename B> void callWith(void (*kernel)(A, B), void **arguments) {
  kernel(*static_cast<A *>(arguments[0]), *static_cast<B *>(arguments[1]));
}
template <typename A, typename B, typename C>
void callWith(void (*kernel)(A, B, C), void **arguments) {
  kernel(*static_cast<A *>(arguments[0]), *static_cast<B *>(arguments[1]),
         *static_cast<C *>(arguments[2]));
}
#endif

/// Stores a value that the host reads at the same time.
inline void storeForHost(uint64_t *to, uint64_t value) {
  __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

/// The index of the thread in the grid, and the number of threads.
inline int64_t threadOfGrid() { return blockOfGrid() * UPD_GPU_THREADS + threadOfBlock(); }
inline int64_t threadsOfGrid() { return blocksOfGrid() * UPD_GPU_THREADS; }

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_KERNELS_KERNELTHREAD_H
