//===- GPUTarget.cpp - The compiler's description of a GPU ------------------------------------===//

#include "updraft/Target/GPUTarget.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace updraft {

// Each has the oldest PTX version that supports the architecture, and 256-bit accesses on sm_100.
static llvm::ArrayRef<GPUTarget> knownTargets() {
  static const GPUTarget targets[] = {{"nvptx:sm_80", "sm_80", "+ptx80", 128, false, 164 * 1024},
                                      {"nvptx:sm_90", "sm_90", "+ptx80", 128, false, 228 * 1024},
                                      {"nvptx:sm_100", "sm_100", "+ptx88", 256, false, 228 * 1024},
                                      {"emulator", "", "", 128, true},
                                      {"emulator:256", "", "", 256, true}};
  return targets;
}

llvm::Expected<GPUTarget> GPUTarget::named(llvm::StringRef name) {
  for (const GPUTarget &target : knownTargets())
    if (name == target.name)
      return target;
  return llvm::createStringError(
      llvm::formatv("unknown target `{0}`; the GPUs are `{1}`", name, llvm::join(names(), "`, `"))
          .str());
}

std::vector<llvm::StringRef> GPUTarget::names() {
  std::vector<llvm::StringRef> names;
  for (const GPUTarget &target : knownTargets())
    names.push_back(target.name);
  return names;
}

llvm::Expected<GPUTarget> GPUTarget::forCapability(int major, int minor) {
  // Sorted in ascending order.
  const GPUTarget *newest = nullptr;
  for (const GPUTarget &target : knownTargets()) {
    int number;
    if (!llvm::StringRef(target.architecture).drop_front(3).getAsInteger(10, number) &&
        number <= major * 10 + minor)
      newest = &target;
  }
  if (newest)
    return *newest;
  return llvm::createStringError(
      llvm::formatv("the GPU has compute capability {0}.{1}; there is code for 8.0 and later",
                    major, minor)
          .str());
}

} // namespace updraft
