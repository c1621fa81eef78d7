//===- PackagedImage.h - The image of a package for a target ------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CAPI_PACKAGEDIMAGE_H
#define UPDRAFT_RUNTIME_CAPI_PACKAGEDIMAGE_H

#include "runtime/package/PackagedRule.h"

namespace updraft::capi {

/// Finds the best image of a variant for a target: null or "host" for this CPU, "cuda" or "cuda:1"
/// for that GPU, or the name of a target. The errors are those of upd_package_load.
runtime::Status findImage(const package::Package &package, uint32_t variant, const char *target,
                          const package::Image *&image);

/// The same for the name of a variant; null is the first.
runtime::Status findImage(const package::Package &package, const char *variant, const char *target,
                          const package::Image *&image);

} // namespace updraft::capi

#endif // UPDRAFT_RUNTIME_CAPI_PACKAGEDIMAGE_H
