//===- GPUTarget.h - What a GPU is to the compiler ----------------------------------*- C++ -*-===//
// The GPUs that Updraft makes code for, by name.

#ifndef UPDRAFT_TARGET_GPUTARGET_H
#define UPDRAFT_TARGET_GPUTARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace updraft {

/// An architecture of NVIDIA's GPUs, or what stands for one: a plain value.
struct GPUTarget {
  std::string name;          ///< as given to `named`
  std::string architecture;  ///< "sm_90"
  std::string features;      ///< LLVM's feature string: the version of PTX, "+ptx80"
  unsigned accessBits = 128; ///< of one load or store
  bool isEmulated = false;   ///< the kernels run on the host
  unsigned sharedBytes = 0;  ///< of a multiprocessor; 0 where the host is one

  /// "nvptx:sm_80", "nvptx:sm_90", "nvptx:sm_100", or "emulator" and "emulator:256" for kernels
  /// with accesses of 128 and 256 bits that run on the host. The error for another name lists
  /// these.
  static llvm::Expected<GPUTarget> named(llvm::StringRef name);
  static std::vector<llvm::StringRef> names();
  /// Of the architectures above, the newest that runs on a GPU of this compute capability. An error
  /// if it is older than all.
  static llvm::Expected<GPUTarget> forCapability(int major, int minor);
  /// Whether `name` is meant for `named`, and not for `CPUTarget::named`.
  static bool isName(llvm::StringRef name) {
    return name.starts_with("nvptx") || name.starts_with("emulator");
  }
};

} // namespace updraft

#endif // UPDRAFT_TARGET_GPUTARGET_H
