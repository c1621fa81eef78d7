//===- Values.h - Numbers in memory -------------------------------------------------*- C++ -*-===//

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

/// In bytes.
int64_t sizeOf(upd_dtype dtype);

/// Numbers of many magnitudes, zeros and denormals among them, which depend on `seed` alone.
std::vector<char> randomValues(upd_dtype dtype, int64_t count, double scale, uint64_t seed);

std::vector<char> randomBits(int64_t bytes, uint64_t seed);

double loadValue(upd_dtype dtype, const char *from);

/// The first difference of elements, and how many there are; empty if there is none. A NaN is equal
/// to any.
std::string differenceOf(upd_dtype dtype, const std::vector<char> &cpu,
                         const std::vector<char> &device);

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_VALUES_H
