//===- PackagedRule.h - The kernels of a package ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_PACKAGE_PACKAGEDRULE_H
#define UPDRAFT_RUNTIME_PACKAGE_PACKAGEDRULE_H

#include "runtime/base/Kernels.h"
#include "runtime/package/Package.h"

namespace updraft::package {

/// Finds a variant by its name; null is the first. UPD_NOT_FOUND: the message lists all.
runtime::Status findVariant(const Package &package, const char *name, uint32_t &variant);

/// Finds the best image of a variant that this process's CPU runs. UPD_UNSUPPORTED: there is none;
/// the message lists what the CPU supports and what the package has.
runtime::Status findForHost(const Package &package, uint32_t variant, const Image *&image);

/// Finds the best image of a variant for GPUs of a compute capability: 90 for 9.0.
runtime::Status findForGPU(const Package &package, uint32_t variant, uint32_t capability,
                           const Image *&image);

/// Finds the image of a variant for a target. UPD_NOT_FOUND: there is none; the message lists all.
runtime::Status findTarget(const Package &package, uint32_t variant, const char *target,
                           const Image *&image);

/// Loads the kernels of an image. Those of a GPU also need an image that the CPU runs. The result
/// doesn't need the package. UPD_UNSUPPORTED: the CPU doesn't run the image, or this version
/// doesn't know what it needs. UPD_INVALID_ARGUMENT: the descriptor is damaged.
runtime::Status loadKernels(const Package &package, const Image &image,
                            std::shared_ptr<const runtime::Kernels> &kernels);

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_PACKAGEDRULE_H
