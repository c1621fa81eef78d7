//===- GPUTarget.h - The compiler's description of a GPU ----------------------------*- C++ -*-===//
// The GPUs that Updraft supports, by name.

#ifndef UPDRAFT_TARGET_GPUTARGET_H
#define UPDRAFT_TARGET_GPUTARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace updraft {

/// An architecture of NVIDIA GPUs, or the emulator, as a plain value.
struct GPUTarget {
  std::string name;          ///< as given to `named`
  std::string architecture;  ///< "sm_90"
  std::string features;      ///< LLVM's feature string: the version of PTX, "+ptx80"
  unsigned accessBits = 128; ///< of one load or store
  bool isEmulated = false;   ///< the kernels run on the host
  unsigned sharedBytes = 0;  ///< of a multiprocessor; 0 if the host emulates it

  /// Names are "nvptx:sm_80", "nvptx:sm_90", "nvptx:sm_100", and "emulator" and "emulator:256" for
  /// kernels that run on the host with accesses of 128 and 256 bits. The error for another name
  /// lists these.
  static llvm::Expected<GPUTarget> named(llvm::StringRef name);
  static std::vector<llvm::StringRef> names();
  /// Returns the newest of these architectures that runs on a GPU of this compute capability. Fails
  /// if the GPU is older than all of them.
  static llvm::Expected<GPUTarget> forCapability(int major, int minor);
  /// Whether `name` is for `named`, not for `CPUTarget::named`.
  static bool isName(llvm::StringRef name) {
    return name.starts_with("nvptx") || name.starts_with("emulator");
  }
};

} // namespace updraft

#endif // UPDRAFT_TARGET_GPUTARGET_H
