//===- Tensors.h - Tensors of a server, for its tests -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_SERVER_TENSORS_H
#define UPDRAFT_UNITTESTS_SERVER_TENSORS_H

#include "runtime/server/Refusal.h"
#include "runtime/server/Tensor.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace updraft::server {

/// A tensor of f32 with these values.
inline Tensor tensorOf(const std::vector<float> &values, Shape shape, Budget &budget) {
  Tensor result(UPD_F32, std::move(shape), budget, "a test's tensor");
  std::memcpy(result.data(), values.data(), values.size() * sizeof(float));
  return result;
}
inline Tensor vectorOf(const std::vector<float> &values, Budget &budget) {
  return tensorOf(values, {static_cast<int64_t>(values.size())}, budget);
}

inline std::vector<float> valuesOf(const void *data, size_t count) {
  std::vector<float> result(count);
  std::memcpy(result.data(), data, count * sizeof(float));
  return result;
}
inline std::vector<float> valuesOf(const Tensor &tensor) {
  return valuesOf(tensor.data(), static_cast<size_t>(tensor.elements()));
}

/// The message of a refusal with this reason; another text if there is none.
template <typename Call> std::string refusalOf(Reason reason, const Call &call) {
  try {
    call();
  } catch (const Refusal &refusal) {
    return refusal.reason() == reason ? refusal.what()
                                      : std::string("another reason: ") + refusal.what();
  }
  return "no refusal";
}

} // namespace updraft::server

#endif // UPDRAFT_UNITTESTS_SERVER_TENSORS_H
