//===- SampleCheck.h - Compares a package's code with its sample --------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_PACKAGE_SAMPLECHECK_H
#define UPDRAFT_RUNTIME_PACKAGE_SAMPLECHECK_H

#include "runtime/package/Package.h"

#include <cstdint>

namespace updraft::package {

/// The size of a comparison.
struct SampleSize {
  int64_t steps = 0;
  size_t tensors = 0;
  uint64_t bytes = 0;
  /// Null, or what may have other bits than the sample. Then nothing was compared, or bits differ.
  const char *otherBits = nullptr;
};

/// Runs the steps of an image's sample on this process's CPU, and compares every bit of the
/// parameters and states, except those of NaNs. Compares nothing if the image multiplies bf16,
/// whose products have other bits, and accepts other bits of a rule that needs LAPACK, which differ
/// between CPUs. UPD_INTERNAL_ERROR: the bits of another rule differ;
/// the message says where. UPD_INVALID_ARGUMENT: the sample is damaged. Else the errors of
/// loadKernels.
runtime::Status checkSample(const Package &package, const Image &image, SampleSize &compared);

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_SAMPLECHECK_H
