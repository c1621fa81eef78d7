//===- Server.h - A parameter server, without its transport -------------------------*- C++ -*-===//
// Carries out the requests that runtime/grpc receives for updraft-worker.

#ifndef UPDRAFT_RUNTIME_SERVER_SERVER_H
#define UPDRAFT_RUNTIME_SERVER_SERVER_H

#include "runtime/server/ChangeGate.h"
#include "runtime/server/ClientTable.h"
#include "runtime/server/GradientContext.h"
#include "runtime/server/Parameters.h"
#include "runtime/server/Recorder.h"
#include "runtime/server/ServedOptimizer.h"
#include "runtime/store/Store.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace updraft::server {

struct Limits {
  size_t tensorBytes = size_t(4) << 30; ///< parameters and gradients; states come in addition
  ClientLimits clients = {};
};

/// When a change is safe from the end of the process.
enum class Durability {
  None,     ///< never
  Snapshot, ///< with the next snapshot
  Step,     ///< when it is answered
};

/// Compiles a rule, or checks a package. Returns a package for this machine. Throws Refusal.
using RuleMaker = std::function<std::string(const worker::v1::Rule &)>;

struct Statistics {
  size_t parameters = 0, optimizers = 0, contexts = 0, clients = 0, rememberedAnswers = 0;
  size_t tensorBytes = 0;
  uint64_t steps = 0;
  uint64_t journalBytes = 0;
};

/// Thread-safe. Functions throw Refusal. Unless its reason is Aborted, nothing has changed.
class Server {
public:
  /// Without durability, `store` is null. Otherwise restores what the store has, and throws
  /// store::StoreError if it can't.
  Server(const Limits &limits, RuleMaker makeRule, Clock clock,
         Durability durability = Durability::None, store::Store *store = nullptr);

  Budget &budget() { return memory; }
  const ParameterStore &parameters() const { return params; }

  /// Writes a parameter. Returns the number of the record, for `sync`.
  uint64_t put(const std::string &name, Tensor tensor);
  /// Returns once a record and all before are on the disk.
  void sync(uint64_t record) { recorder.sync(record); }
  /// Copies of their values, all of the same moment.
  std::vector<Tensor> copies(const Parameters &some);

  /// Has no effect if the same request created the optimizer before. Throws AlreadyExists if
  /// another did.
  void createOptimizer(const worker::v1::CreateOptimizerRequest &request);
  /// Frees its contexts, too. Has no effect without such an optimizer.
  void deleteOptimizer(const std::string &name);
  void setHypers(const worker::v1::SetHyperparametersRequest &request);
  /// Throws NotFound.
  std::shared_ptr<const ServedOptimizer> optimizer(const std::string &name) const;

  /// Contexts are numbered by clients. A context is open until it is released, or until the leases
  /// of all clients that opened it have ended.
  void openContext(const std::string &optimizer, uint64_t context, const std::string &client);
  void releaseContext(const std::string &optimizer, uint64_t context);
  ClientTable &clients() { return table; }
  void registerClient(const std::string &name);
  /// Frees contexts of clients whose leases have ended, and forgets such clients when their answers
  /// are old. Called every few seconds.
  void freeEnded();

  /// Adds all of the gradients or, on a refusal, none.
  void push(const std::string &optimizer, uint64_t context, const RequestKey &request,
            std::vector<Gradient> gradients);
  /// Returns the number of stepped parameters, also if the step was carried out before.
  int64_t step(const std::string &optimizer, uint64_t context, const RequestKey &request);

  /// Writes a snapshot. Changes wait while values are copied, not while they are written. Throws
  /// FailedPrecondition without a store.
  void takeSnapshot();
  /// The number of changes that no snapshot has. Some may have had no effect.
  uint64_t changesSinceSnapshot() const { return gate.count() - inSnapshot; }

  Statistics statistics() const;

private:
  struct OpenContext {
    std::shared_ptr<GradientContext> context;
    std::map<std::string, Budget::Reservation> clients; ///< that opened it
  };
  struct Entry {
    std::shared_ptr<ServedOptimizer> optimizer;
    std::map<uint64_t, OpenContext> contexts;
  };

  /// Throw NotFound. Called with `mutex` held.
  const Entry &entry(const std::string &name) const;
  Entry &entry(const std::string &name);
  static std::shared_ptr<GradientContext> contextOf(const Entry &entry, const std::string &name,
                                                    uint64_t context);

  void restore();
  void restoreParameters(const std::string &bytes, const std::string &name);
  void replay(uint64_t number, std::string_view content);
  void replayStep(const store::v1::Step &step, ReadRecord &record);

  Budget memory;
  ParameterStore params;
  RuleMaker makeRule;
  ClientTable table;
  store::Store *const store;
  Recorder recorder{nullptr};
  ChangeGate gate;
  mutable std::mutex mutex; ///< guards `optimizers`; locked after the gate, before others
  std::map<std::string, Entry> optimizers;
  std::mutex snapshots;                 ///< held while a snapshot is taken
  std::atomic<uint64_t> inSnapshot = 0; ///< changes
  std::atomic<uint64_t> steps = 0;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_SERVER_H
