//===- GradientContext.h - The gradients that clients push for a step ---------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_GRADIENTCONTEXT_H
#define UPDRAFT_RUNTIME_SERVER_GRADIENTCONTEXT_H

#include "runtime/server/RequestKey.h"
#include "runtime/server/Tensor.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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
  Budget::Reservation reserved = {}; ///< for what it takes besides its values
};

/// The sum of all gradients of a parameter.
struct SummedGradient {
  std::vector<int64_t> rows; ///< strictly ascending; none for a whole gradient
  bool isWhole = true;
  upd_tensor view{};
};

/// The sums of a context's gradients. Valid as long as the context.
struct SummedGradients {
  std::map<size_t, SummedGradient> byParam;
  std::vector<Tensor> memory; ///< of the sums
  Budget::Reservation rows;   ///< for the lists of rows
};

/// The gradients for a step, from any number of clients. Sums are taken in the order of clients'
/// names, then of their requests, then within a request, whatever the order of arrival. They are
/// taken in f32, or in f64 for gradients in f64, and rounded once. Thread-safe.
class GradientContext {
public:
  /// Adds a request's gradients. Does nothing if it was added before, or has none. Throws
  /// Unavailable while a step has the sum, and FailedPrecondition once the context is closed.
  void add(const RequestKey &request, std::vector<Gradient> gradients);

  /// The bytes of all gradients.
  size_t bytes() const { return size; }

  /// Sums the gradients. Returns the same as before if a step still has that. Throws
  /// ResourceExhausted.
  std::shared_ptr<const SummedGradients> sum(Budget &budget);
  /// A step has applied the sum, and still has it. Other steps get the same one.
  void close();

private:
  std::atomic<size_t> size = 0;
  std::mutex mutex;
  std::map<RequestKey, std::vector<Gradient>> requests;
  std::weak_ptr<const SummedGradients> latest;
  std::shared_ptr<const SummedGradients> applied; ///< null until `close`
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_GRADIENTCONTEXT_H
