//===- Inputs.h - Elements to run rules on ------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_INPUTS_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_INPUTS_H

#include "updraft/Reference/StorageFormat.h"

#include <random>
#include <span>

namespace updraft::differential {

/// Encodings in f64 of NaNs of both signs, with payloads that rounding to a narrower type keeps,
/// loses, or could carry; some are signalling.
std::span<const uint64_t> anyNaNs();

/// Makes element `index` the NaN with the f64 encoding `encoding`, without the bits that `format`
/// lacks.
void storeNaN(reference::StorageFormat format, void *data, int64_t index, uint64_t encoding);

/// Fills `count` elements: values of several magnitudes, and with `specials` some NaNs
/// of every kind, infinities, zeros, denormals and the largest.
void fillElements(reference::StorageFormat format, void *data, int64_t count,
                  std::mt19937_64 &random, bool specials = true);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_INPUTS_H
