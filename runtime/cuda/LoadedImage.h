//===- LoadedImage.h - Kernels that a GPU can run -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CUDA_LOADEDIMAGE_H
#define UPDRAFT_RUNTIME_CUDA_LOADEDIMAGE_H

#include "runtime/cuda/Driver.h"

#include <memory>
#include <string>

namespace updraft::cuda {

/// The GPU to compile for.
struct Target {
  std::string name;
  int major, minor; ///< compute capability
};

/// Loaded code. Create, use and destroy it while its context is current.
class LoadedImage {
public:
  /// Compiles PTX with the driver and loads the result. The driver keeps machine code on the disk,
  /// and takes it from there the next time (CUDA_CACHE_PATH, CUDA_CACHE_DISABLE). UPD_UNSUPPORTED:
  /// the driver is too old for the PTX. Thread-safe.
  static runtime::Status load(const Driver &driver, const Target &target, const std::string &ptx,
                              std::unique_ptr<LoadedImage> &image);

  LoadedImage(const Driver &driver, Image *image) : driver(driver), image(image) {}
  ~LoadedImage() { (void)driver.moduleUnload(image); }
  LoadedImage(const LoadedImage &) = delete;

  Result find(const std::string &name, Function *&function) const {
    return driver.moduleGetFunction(&function, image, name.c_str());
  }

private:
  const Driver &driver;
  Image *image;
};

} // namespace updraft::cuda

#endif // UPDRAFT_RUNTIME_CUDA_LOADEDIMAGE_H
