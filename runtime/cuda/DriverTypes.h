//===- DriverTypes.h - Types of the CUDA driver's functions -------------------------*- C++ -*-===//
// The subset of the driver's C interface that Updraft uses, with the same values, so that Updraft
// builds without CUDA's headers.

#ifndef UPDRAFT_RUNTIME_CUDA_DRIVERTYPES_H
#define UPDRAFT_RUNTIME_CUDA_DRIVERTYPES_H

#include <cstddef>
#include <cstdint>

namespace updraft::cuda {

/// CUresult. Other values are possible.
enum Result : int {
  success = 0,
  errorOutOfMemory = 2,
  errorNotInitialized = 3,
  errorDeviceUnavailable = 46, ///< another process uses it exclusively
  errorNoDevice = 100,
  errorNoBinaryForGpu = 209,
  errorJitCompilerNotFound = 221,
  errorUnsupportedPtxVersion = 222,
  errorNotFound = 500,
  errorNotReady = 600,
  errorIllegalAddress = 700,
  errorAssert = 710,
  errorHardwareStack = 714, ///< errors of kernels, up to errorLaunchFailed
  errorLaunchFailed = 719,
  errorCaptureUnsupported = 900, ///< errors of captures, up to errorCaptureWrongThread
  errorCaptureWrongThread = 908
};

using DeviceNumber = int; ///< CUdevice
using DevicePointer = unsigned long long;
struct Context;  ///< pointee of CUcontext
struct Image;    ///< CUmodule
struct Function; ///< CUfunction
struct Queue;    ///< CUstream
struct Event;    ///< CUevent

/// CUdevice_attribute.
enum Attribute : int {
  multiprocessorCount = 16,
  threadsPerMultiprocessor = 39,
  computeCapabilityMajor = 75,
  computeCapabilityMinor = 76
};

/// CUjit_option.
enum JitOption : int { errorLogBuffer = 5, errorLogBufferBytes = 6 };

/// CUstreamCaptureStatus, CUstreamCaptureMode.
enum CaptureStatus : int { notCapturing = 0 };
enum CaptureMode : int { captureGlobal = 0, captureThreadLocal = 1, captureRelaxed = 2 };

inline constexpr unsigned streamNonBlocking = 1;  ///< CU_STREAM_NON_BLOCKING
inline constexpr unsigned eventDisableTiming = 2; ///< CU_EVENT_DISABLE_TIMING
inline constexpr unsigned hostMemoryPortable = 1; ///< CU_MEMHOSTALLOC_PORTABLE

} // namespace updraft::cuda

#endif // UPDRAFT_RUNTIME_CUDA_DRIVERTYPES_H
