//===- Values.cpp - Generated numbers and comparison ------------------------------------------===//

#include "Values.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace updraft::suite;

int64_t TensorShape::elements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

std::string TensorShape::text() const { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

int64_t updraft::suite::sizeOf(upd_dtype dtype) {
  switch (dtype) {
  case UPD_F64:
    return 8;
  case UPD_F32:
    return 4;
  case UPD_BF16:
  case UPD_F16:
    return 2;
  case UPD_Q8_LINEAR:
  case UPD_Q8_COMPANDED:
  case UPD_I8:
    return 1;
  }
  return 0;
}

static uint16_t toBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void store(upd_dtype dtype, double value, char *to) {
  if (dtype == UPD_F64)
    std::memcpy(to, &value, 8);
  else if (dtype == UPD_F32) {
    const auto single = static_cast<float>(value);
    std::memcpy(to, &single, 4);
  } else if (dtype == UPD_F16) {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(to, &half, 2);
  } else {
    const uint16_t half = toBF16(static_cast<float>(value));
    std::memcpy(to, &half, 2);
  }
}

template <typename T> static T read(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

double updraft::suite::loadValue(upd_dtype dtype, const char *from) {
  if (dtype == UPD_F64)
    return read<double>(from);
  if (dtype == UPD_F32)
    return read<float>(from);
  if (dtype == UPD_F16)
    return static_cast<double>(read<_Float16>(from));
  if (dtype == UPD_BF16)
    return std::bit_cast<float>(uint32_t(read<uint16_t>(from)) << 16);
  return static_cast<signed char>(*from);
}

/// The generator splitmix64 of Steele, Lea and Flood.
static uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::vector<char> updraft::suite::randomBits(int64_t bytes, uint64_t seed) {
  std::vector<char> result(static_cast<size_t>(bytes));
  for (size_t i = 0; i < result.size(); i += 8) {
    const uint64_t random = mixed(seed * 0x100000001b3 + i);
    std::memcpy(result.data() + i, &random, std::min<size_t>(8, result.size() - i));
  }
  return result;
}

/// Calls value(random) for each number of a sequence that depends only on `seed`.
template <typename Value>
static std::vector<char> valuesBy(upd_dtype dtype, int64_t count, uint64_t seed, Value value) {
  const int64_t size = sizeOf(dtype);
  std::vector<char> bytes(static_cast<size_t>(count * size));
  for (int64_t i = 0; i < count; ++i)
    store(dtype, value(mixed(seed * 0x100000001b3 + static_cast<uint64_t>(i))),
          bytes.data() + i * size);
  return bytes;
}

/// A number in [-1, 1).
static double uniform(uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-52 - 1; }

std::vector<char> updraft::suite::uniformValues(upd_dtype dtype, int64_t count, double scale,
                                                uint64_t seed) {
  return valuesBy(dtype, count, seed, [&](uint64_t random) { return scale * uniform(random); });
}

std::vector<char> updraft::suite::randomValues(upd_dtype dtype, int64_t count, double scale,
                                               uint64_t seed) {
  return valuesBy(dtype, count, seed, [&](uint64_t random) {
    const double value = scale * uniform(random);
    switch (random & 63) {
    case 0:
      return 0.0;
    case 1:
      return value * 0x1p-130; // denormal in f32
    case 2:
      return value * 1000;
    case 3:
      return value * 0x1p-20;
    default:
      return value;
    }
  });
}

std::string updraft::suite::differenceOf(upd_dtype dtype, const std::vector<char> &cpu,
                                         const std::vector<char> &device) {
  if (cpu.size() != device.size())
    return fmt::format("{} bytes on the CPU and {} on the device", cpu.size(), device.size());
  if (cpu == device)
    return {};
  const auto size = static_cast<size_t>(sizeOf(dtype));
  size_t different = 0;
  std::string first;
  for (size_t i = 0; i < cpu.size(); i += size) {
    const char *a = cpu.data() + i, *b = device.data() + i;
    if (std::memcmp(a, b, size) == 0)
      continue;
    const double x = loadValue(dtype, a), y = loadValue(dtype, b);
    if (std::isnan(x) && std::isnan(y))
      continue;
    if (different++ == 0)
      first = fmt::format("element {}: {:.17g} on the CPU, {:.17g} on the device", i / size, x, y);
  }
  return different == 0 ? "" : fmt::format("{}; {} elements differ", first, different);
}
