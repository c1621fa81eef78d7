//===- Inputs.h - Elements to run rules on ------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_INPUTS_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_INPUTS_H

#include "updraft/Reference/StorageFormat.h"

#include <random>

namespace updraft::differential {

/// Fills `count` elements: values of several magnitudes, and with `specials` some NaNs,
/// infinities, zeros, denormals and the largest.
void fillElements(reference::StorageFormat format, void *data, int64_t count,
                  std::mt19937_64 &random, bool specials = true);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_INPUTS_H
