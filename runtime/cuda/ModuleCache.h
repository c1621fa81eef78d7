//===- ModuleCache.h - From PTX to kernels on a GPU ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CUDA_MODULECACHE_H
#define UPDRAFT_RUNTIME_CUDA_MODULECACHE_H

#include "runtime/cuda/Driver.h"
#include "runtime/files/CodeCache.h"

#include <memory>
#include <string>

namespace updraft::cuda {

/// The GPU that code is for.
struct Target {
  std::string name;
  int major, minor; ///< compute capability
};

/// Code that is loaded. Made, used and released while its context is current.
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

/// Has the driver compile PTX for one GPU, or takes what it compiled before for the same GPU and
/// version of the driver. Any thread; the context is current in each call.
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
