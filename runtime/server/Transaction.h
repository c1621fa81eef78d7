//===- Transaction.h - A step on several workers ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_TRANSACTION_H
#define UPDRAFT_RUNTIME_SERVER_TRANSACTION_H

#include "runtime/server/GradientContext.h"
#include "updraft/worker/v1/worker.pb.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace updraft::server {

/// A step that either all workers apply or none. The first worker coordinates it.
struct Transaction {
  std::string optimizer;
  uint64_t context = 0;
  RequestKey request;
  /// A number of this attempt. If an attempt fails, the request can be repeated.
  uint64_t attempt = 0;
  std::vector<std::string> workers; ///< addresses
  size_t self = 0;                  ///< this worker's position among them
  worker::v1::Staleness staleness = {};
};

/// The result of a transaction, as its coordinator records it.
struct Decision {
  RequestKey request;
  uint64_t attempt = 0;
  bool isCommitted = false;
  int64_t stepped = 0;                  ///< parameters, on all workers
  std::set<std::string> unacknowledged; ///< workers that may not know it
};

/// The answer of a worker that is asked for the result of a transaction.
enum class Outcome {
  Unknown,   ///< it has no record of the attempt; from the coordinator: aborted
  Undecided, ///< the attempt is under way
  Committed,
};

/// The other workers. Functions throw Refusal, and may be called again. Thread-safe.
class Peers {
public:
  virtual ~Peers() = default;
  /// Whether an address is that of this worker.
  virtual bool isSelf(const std::string &worker) = 0;
  /// Returns the number of parameters that the worker will step.
  virtual int64_t prepare(const std::string &worker, const Transaction &transaction) = 0;
  virtual void decide(const std::string &worker, const Decision &decision) = 0;
  virtual Outcome outcome(const std::string &worker, const RequestKey &request,
                          uint64_t attempt) = 0;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_TRANSACTION_H
