//===- Values.h - Generated numbers and comparison ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_VALUES_H
#define UPDRAFT_TOOLS_GPUSUITE_VALUES_H

#include "updraft-c/types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace updraft::suite {

struct TensorShape {
  std::vector<int64_t> sizes;
  int64_t offset = 0; // elements between an aligned address and the first element

  int64_t elements() const;
  std::string text() const; // [3, 4]
};

/// The size in bytes.
int64_t sizeOf(upd_dtype dtype);

/// Random numbers in [-scale, scale). They depend only on `seed`.
std::vector<char> uniformValues(upd_dtype dtype, int64_t count, double scale, uint64_t seed);

/// Random numbers of many magnitudes, including zeros and denormals. They depend only on `seed`.
std::vector<char> randomValues(upd_dtype dtype, int64_t count, double scale, uint64_t seed);

std::vector<char> randomBits(int64_t bytes, uint64_t seed);

double loadValue(upd_dtype dtype, const char *from);

/// Describes the first different element and the number of differences. Empty if all are equal.
/// NaNs are equal to each other.
std::string differenceOf(upd_dtype dtype, const std::vector<char> &cpu,
                         const std::vector<char> &device);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_VALUES_H
