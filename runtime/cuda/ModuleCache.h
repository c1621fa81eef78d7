//===- ModuleCache.h - From PTX to kernels on a GPU ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CUDA_MODULECACHE_H
#define UPDRAFT_RUNTIME_CUDA_MODULECACHE_H

#include "runtime/cuda/Driver.h"
#include "runtime/files/CodeCache.h"

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

/// Compiles PTX for a GPU with the driver, or takes the result of an earlier compilation for the
/// same GPU and driver version. Thread-safe; the context must be current in each call.
class ModuleCache {
public:
  ModuleCache(const Driver &driver, Target target, files::CodeCache cubins)
      : driver(driver), target(std::move(target)), cubins(std::move(cubins)) {}

  runtime::Status load(const std::string &ptx, std::unique_ptr<LoadedImage> &image) const;

private:
  runtime::Status compile(const std::string &ptx, std::string &cubin) const;
  std::string sourceOf(const std::string &ptx) const;

  const Driver &driver;
  Target target;
  files::CodeCache cubins;
};

} // namespace updraft::cuda

#endif // UPDRAFT_RUNTIME_CUDA_MODULECACHE_H
