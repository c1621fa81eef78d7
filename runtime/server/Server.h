//===- Server.h - A parameter server, without its transport -------------------------*- C++ -*-===//
// Carries out the requests that runtime/grpc receives for updraft-worker.

#ifndef UPDRAFT_RUNTIME_SERVER_SERVER_H
#define UPDRAFT_RUNTIME_SERVER_SERVER_H

#include "runtime/server/ClientTable.h"
#include "runtime/server/GradientContext.h"
#include "runtime/server/Parameters.h"
#include "runtime/server/Recorder.h"
#include "runtime/server/ServedOptimizer.h"
#include "runtime/server/Transaction.h"
#include "runtime/store/Store.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::server {

struct Limits {
  size_t tensorBytes = size_t(4) << 30; ///< parameters and gradients; states come in addition
  ClientLimits clients = {};
  dist::Patience patience{10'000}; ///< how long a request waits for locks
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
  size_t undecidedSteps = 0; ///< of several workers, which are prepared
};

/// Thread-safe. Functions throw Refusal. Unless its reason is OutcomeUnknown, nothing has changed.
class Server {
public:
  /// Without durability, `store` is null. Otherwise restores what the store has, and throws
  /// store::StoreError if it can't, or if there are undecided steps and it isn't Durability::Step.
  Server(const Limits &limits, RuleMaker makeRule, Clock clock,
         Durability durability = Durability::None, store::Store *store = nullptr);

  /// Whether it has Durability::Step.
  bool isDurable() const { return recorder.isDurable(); }
  Budget &budget() { return memory; }
  const ParameterStore &parameters() const { return params; }

  /// Writes a parameter. Returns the number of the record, for `sync`.
  uint64_t put(const std::string &name, Tensor tensor);
  /// Returns once a record and all before are on the disk.
  void sync(uint64_t record) { recorder.sync(record); }
  /// Copies of their values, all of the same moment.
  std::vector<ParameterCopy> copies(const Parameters &some);

  /// Has no effect if the same request created the optimizer before. Throws AlreadyExists if
  /// another did.
  void createOptimizer(const worker::v1::CreateOptimizerRequest &request);
  /// Whether the same request created an optimizer. Throws AlreadyExists if another did.
  bool hasOptimizer(const worker::v1::CreateOptimizerRequest &request) const;
  /// Frees its contexts, too. Has no effect without such an optimizer.
  void deleteOptimizer(const std::string &name);
  void setHypers(const worker::v1::SetHyperparametersRequest &request);
  /// Of each group.
  std::vector<std::map<std::string, double>> hypers(const std::string &optimizer);
  StatesFile states(const std::string &optimizer);
  /// Replaces states, or nothing if the file doesn't fit.
  void setStates(const std::string &optimizer, const std::string &bytes);
  /// Throws NotFound.
  std::shared_ptr<const ServedOptimizer> optimizer(const std::string &name) const;

  /// Contexts are numbered by clients. A context is open until each client that opened it
  /// has released it or its lease has ended.
  void openContext(const std::string &optimizer, uint64_t context, const std::string &client);
  void releaseContext(const std::string &optimizer, uint64_t context, const std::string &client);
  ClientTable &clients() { return table; }
  void registerClient(const std::string &name);
  /// Frees contexts of clients whose leases have ended, and forgets such clients when their answers
  /// are old. Frees memory that is kept for tensors and unused. Called every few seconds.
  void freeEnded();

  /// Adds all of the gradients or, on a refusal, none. The gradients have positions in `of`; null:
  /// in the current optimizer. Throws ContextUnknown if the client doesn't have the context open,
  /// or if another optimizer has taken the name of `of`.
  void push(const std::string &optimizer, uint64_t context, const RequestKey &request,
            std::vector<Gradient> gradients, const ServedOptimizer *of = nullptr);
  /// Returns the number of stepped parameters, also if the step was carried out before.
  int64_t step(const std::string &optimizer, uint64_t context, const RequestKey &request,
               const worker::v1::Staleness &staleness = {});

  // A step that either all of some workers apply or none. Needs Durability::Step.

  /// Coordinates a step of these workers, of which this is the first. Returns the number of
  /// parameters that all of them have stepped.
  int64_t stepAll(const std::string &optimizer, uint64_t context, const RequestKey &request,
                  const std::vector<std::string> &workers, Peers &peers,
                  const worker::v1::Staleness &staleness = {});
  /// Prepares a step for a coordinator, and holds its locks until it is decided, even if the server
  /// is started again. Returns the number of its parameters.
  int64_t prepare(const Transaction &transaction);
  /// Applies or abandons a prepared step. Has no effect if that was done before.
  void decide(const Decision &decision);
  Outcome outcome(const RequestKey &request, uint64_t attempt) const;
  /// Tells workers the decisions that they may not know, and asks for decisions that this worker
  /// doesn't know. Called every few seconds.
  void resolve(Peers &peers);

  /// Called after a snapshot that was written, or that failed with an error.
  using SnapshotObserver =
      std::function<void(std::chrono::duration<double> taken, const std::string &error)>;
  /// Before other threads use the server.
  void observeSnapshots(SnapshotObserver by) { observeSnapshot = std::move(by); }
  /// Writes a snapshot. Changes wait while values are copied, not while they are written. Throws
  /// FailedPrecondition without a store.
  void takeSnapshot();
  /// The number of changes that no snapshot has. Some may have had no effect.
  uint64_t changesSinceSnapshot() const { return recorder.gate.count() - inSnapshot; }

  Statistics statistics() const;
  /// The newest probes of all optimizers whose rules have some.
  std::vector<ProbeValue> probes() const;
  /// 0 without a store.
  uint64_t journalBytes() const { return store ? store->journal().bytes() : 0; }

private:
  struct OpenContext {
    std::shared_ptr<GradientContext> context;
    std::map<std::string, Budget::Reservation> clients; ///< that opened it
  };
  struct Entry {
    std::shared_ptr<ServedOptimizer> optimizer;
    std::map<uint64_t, OpenContext> contexts;
  };

  /// Throws NotFound.
  std::shared_ptr<ServedOptimizer> served(const std::string &name) const;
  struct Target {
    std::shared_ptr<ServedOptimizer> optimizer;
    std::shared_ptr<GradientContext> context;
  };
  /// Throws NotFound, or ContextUnknown if the client doesn't have the context open: after its
  /// lease has ended or the worker was started again, gradients may be missing.
  Target target(const std::string &optimizer, uint64_t context, const std::string &client) const;
  // Called with `mutex` held. The first two throw NotFound, the third AlreadyExists.
  const Entry &entry(const std::string &name) const;
  Entry &entry(const std::string &name);
  bool isCreated(const worker::v1::CreateOptimizerRequest &request) const;

  /// A prepared step. Once it is recorded, its members change only within the recorder's gate,
  /// except for `isBusy`.
  struct Prepared {
    Transaction transaction;
    std::shared_ptr<ServedOptimizer> optimizer;
    std::shared_ptr<GradientContext> context; ///< null for a step that was read from the journal
    std::shared_ptr<const void> owner;        ///< of the gradients
    const std::map<size_t, SummedGradient> *gradients = nullptr;
    std::unique_ptr<ServedStep> step; ///< null if there are no gradients
    bool isRecorded = false;          ///< that it is prepared
    bool isDecided = false;           ///< and committed
    bool isBusy = true;               ///< being prepared or decided

    int64_t count() const { return static_cast<int64_t>(gradients->size()); }
  };

  void prepare(Prepared &prepared);
  void commit(Prepared &prepared, const Decision &decision);
  void abort(Prepared &prepared);
  void tell(Decision decision, Peers &peers);
  std::shared_ptr<Prepared> takePrepared(const RequestKey &request);
  void writeSnapshot();
  void listTransactions();

  void restore();
  void restoreParameters(const runtime::SafetensorsFile &file);
  void replay(uint64_t number, std::string_view content);
  void replayPrepare(const store::v1::Prepare &prepare, std::string_view content);
  void replayDecide(const store::v1::Decide &decide);

  Budget memory;
  ParameterStore params;
  RuleMaker makeRule;
  ClientTable table;
  store::Store *const store;
  const dist::Patience patience;
  Recorder recorder;
  mutable std::mutex mutex; ///< guards `optimizers`
  std::map<std::string, Entry> optimizers;
  SnapshotObserver observeSnapshot;
  std::mutex snapshots;                 ///< held while a snapshot is taken
  std::atomic<uint64_t> inSnapshot = 0; ///< changes
  std::atomic<uint64_t> steps = 0;
  mutable std::mutex transactions; ///< guards what follows
  std::map<RequestKey, std::shared_ptr<Prepared>> prepared;
  std::map<RequestKey, Decision> decisions; ///< commits that some worker may not know
  std::set<uint64_t> attempts;              ///< that this server coordinates
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_SERVER_H
