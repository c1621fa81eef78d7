//===- GradientContext.h - The gradients that clients push for a step ---------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_GRADIENTCONTEXT_H
#define UPDRAFT_RUNTIME_SERVER_GRADIENTCONTEXT_H

#include "runtime/server/RequestKey.h"
#include "runtime/server/Tensor.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace updraft::server {

/// The gradient of a parameter: of all of it, or of some rows.
struct Gradient {
  size_t param = 0;
  /// Indices into the first dimension, in any order, with repetitions; none for a whole gradient.
  std::optional<std::vector<int64_t>> rows;
  Tensor values;
  std::vector<Budget::Reservation> reserved = {}; ///< for what it takes besides its values
};

/// The sum of all gradients of a parameter.
struct SummedGradient {
  std::vector<int64_t> rows; ///< strictly ascending; none for a whole gradient
  bool isWhole = true;
  upd_tensor view{};
};

/// The gradients for a step, from any number of clients. Sums are taken in the order of clients'
/// names, then of their requests, then within a request, whatever the order of arrival. They are
/// taken in f32, or in f64 for gradients in f64, and rounded once. Thread-safe.
class GradientContext {
public:
  /// Adds a request's gradients. Does nothing if it was added before, or has none. Throws
  /// FailedPrecondition once the context has been summed.
  void add(const RequestKey &request, std::vector<Gradient> gradients);

  /// The bytes of all gradients.
  size_t bytes() const { return size; }

  /// Sums the gradients, by parameter. From the first call on the context takes no more gradients;
  /// later calls return the same. Throws ResourceExhausted. Valid as long as the context.
  const std::map<size_t, SummedGradient> &sum(Budget &budget);

private:
  std::atomic<size_t> size = 0;
  std::mutex mutex;
  std::map<RequestKey, std::vector<Gradient>> requests;
  std::vector<Tensor> sums; ///< memory of `summed`
  std::optional<std::map<size_t, SummedGradient>> summed;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_GRADIENTCONTEXT_H
