//===- SampleCheck.h - Compares a package's code with its sample --------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_PACKAGE_SAMPLECHECK_H
#define UPDRAFT_RUNTIME_PACKAGE_SAMPLECHECK_H

#include "runtime/package/Package.h"

#include <cstdint>

namespace updraft::package {

/// The size of a comparison. Without tensors, the steps ran but nothing was compared.
struct SampleSize {
  int64_t steps = 0;
  size_t tensors = 0;
  uint64_t bytes = 0;
};

/// Runs the steps of an image's sample on this process's CPU, and compares every bit of the
/// parameters and states, except those of NaNs. Compares nothing if the image multiplies bf16,
/// because bf16 products then have other bits than the sample. UPD_INTERNAL_ERROR: they differ;
/// the message says where. UPD_INVALID_ARGUMENT: the sample is damaged. Else the errors of
/// loadKernels.
runtime::Status checkSample(const Package &package, const Image &image, SampleSize &compared);

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_SAMPLECHECK_H
