//===- InitialValues.cpp - The initial values of states ---------------------------------------===//

#include "runtime/optimizer/InitialValues.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace updraft::runtime;

void InitialValues::evaluate(const Kernels &kernels, const GroupHypers &hypers) {
  const std::vector<StateInterface> &interfaces = kernels.interface.states;
  states = interfaces.size();
  scratch.resize(states);
  values.resize(hypers.groupCount() * states);
  zero = true;
  for (size_t group = 0; group < hypers.groupCount() && states != 0; ++group) {
    kernels.initial(hypers.of(group), scratch.data());
    for (size_t i = 0; i < states; ++i) {
      Value &value = values[group * states + i];
      const upd_dtype dtype = interfaces[i].dtype;
      if (isBlocked(dtype)) {
        setBlocked(value, scratch[i]);
        zero &= value.isZero;
        continue;
      }
      storeRounded(dtype, scratch[i], value.element);
      value.rounded = loadExact(dtype, value.element);
      value.bytes = static_cast<uint8_t>(sizeOf(dtype));
      value.isZero = std::all_of(value.element, value.element + value.bytes,
                                 [](char byte) { return byte == 0; });
      zero &= value.isZero;
    }
  }
}

/// The code 1 or -1, with the magnitude as the scale, is exact in both formats. For a negative
/// value the scale is negative, and the code has an offset of 128.
void InitialValues::setBlocked(Value &value, double initial) {
  const auto rounded = static_cast<float>(initial);
  value.rounded = rounded;
  value.bytes = 1;
  value.isZero = rounded == 0;
  value.scale = value.isZero ? 0 : rounded;
  if (std::isnan(rounded))
    value.scale = std::numeric_limits<float>::quiet_NaN();
  value.element[0] = static_cast<char>(value.isZero ? 0 : rounded < 0 ? 127 : 1);
}

template <typename Element>
static void fillWith(const void *value, void *data, int64_t begin, int64_t end) {
  Element element;
  std::memcpy(&element, value, sizeof(element));
  std::fill(static_cast<Element *>(data) + begin, static_cast<Element *>(data) + end, element);
}

void InitialValues::fill(uint32_t group, size_t state, void *data, int64_t begin,
                         int64_t end) const {
  const Value &value = at(group, state);
  switch (value.bytes) {
  case 1:
    return fillWith<uint8_t>(value.element, data, begin, end);
  case 2:
    return fillWith<uint16_t>(value.element, data, begin, end);
  case 4:
    return fillWith<uint32_t>(value.element, data, begin, end);
  case 8:
    return fillWith<uint64_t>(value.element, data, begin, end);
  default: // no other size
    return;
  }
}

void InitialValues::fillScales(uint32_t group, size_t state, void *data, int64_t begin,
                               int64_t end) const {
  fillWith<float>(&at(group, state).scale, data, begin, end);
}
