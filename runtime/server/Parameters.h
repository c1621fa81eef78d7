//===- Parameters.h - The parameters on a worker ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_PARAMETERS_H
#define UPDRAFT_RUNTIME_SERVER_PARAMETERS_H

#include "runtime/dist/StorageLocks.h"
#include "runtime/server/Recorder.h"
#include "runtime/server/Tensor.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

namespace updraft::server {

/// A tensor that optimizers of several clients may step. Its memory stays where it is. Code that
/// reads or writes it holds its lock in dist::StorageLocks.
struct Parameter {
  std::string name;
  Tensor tensor;
  std::atomic<uint64_t> version = 0; ///< how often it was written
};

using Parameters = std::vector<std::shared_ptr<Parameter>>;

/// The locks of these parameters, in the same order.
dist::StorageLocks locksOf(const Parameters &parameters);

/// A parameter's values and version at some moment.
struct ParameterCopy {
  Tensor tensor;
  uint64_t version = 0;
  Budget::Reservation reserved = {}; ///< for what it takes besides its values
};

/// Copies of their values, all of the same moment. Throws ResourceExhausted, or Unavailable if a
/// step holds one for longer than `patience`.
std::vector<ParameterCopy> copiesOf(const Parameters &parameters, Budget &budget,
                                    dist::Patience patience);

/// The refusal of a request that has waited too long for a lock.
class Refusal lockTimeout();

/// Parameters by name. Thread-safe.
class ParameterStore {
public:
  /// Writes a parameter, or adds it. Throws AlreadyExists if it has another type or shape, or
  /// Unavailable if a step holds it for longer than `patience`. Returns the number of the record.
  uint64_t put(const std::string &name, Tensor tensor, Recorder &recorder,
               dist::Patience patience = dist::forever);
  /// Adds a parameter with a version, when a store is read.
  void restore(const std::string &name, Tensor tensor, uint64_t version);

  /// Throws NotFound with the names that don't exist.
  Parameters find(const std::vector<std::string> &names) const;
  /// In the order of names.
  Parameters all() const;

private:
  void add(const std::string &name, Tensor tensor, uint64_t version);

  mutable std::shared_mutex mutex;
  std::map<std::string, std::shared_ptr<Parameter>> byName;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_PARAMETERS_H
