//===- Server.h - A parameter server, without its transport -------------------------*- C++ -*-===//
// Carries out the requests that runtime/grpc receives for updraft-worker.

#ifndef UPDRAFT_RUNTIME_SERVER_SERVER_H
#define UPDRAFT_RUNTIME_SERVER_SERVER_H

#include "runtime/server/GradientContext.h"
#include "runtime/server/Parameters.h"
#include "runtime/server/RequestTable.h"
#include "runtime/server/ServedOptimizer.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace updraft::server {

struct Limits {
  size_t tensorBytes = size_t(4) << 30; ///< parameters and gradients; states come in addition
  std::chrono::seconds answerAge{600};  ///< how long the answer to a step is kept at least
  size_t answersPerClient = size_t(1) << 16;
};

/// Where a rule comes from.
struct RuleRequest {
  std::string source; ///< text of a rule file, or a package
  std::string rule;   ///< which rule of the text; empty: the only one
  std::vector<std::pair<std::string, std::string>> settings; ///< static flags and defaults
  std::vector<std::pair<std::string, std::string>> storage;  ///< storage types, as in the language
  std::string numerics;                                      ///< empty: as usual
  bool operator==(const RuleRequest &) const = default;
};

/// Compiles a rule or opens a package. Throws Refusal.
using RuleMaker = std::function<RulePointer(const RuleRequest &)>;

struct OptimizerRequest {
  RuleRequest rule;
  std::vector<GroupRequest> groups;
  uint64_t seed = 0;
  bool operator==(const OptimizerRequest &) const = default;
};

struct Statistics {
  size_t parameters = 0, optimizers = 0, contexts = 0, rememberedAnswers = 0;
  size_t tensorBytes = 0;
  uint64_t steps = 0;
};

/// Thread-safe. All functions throw Refusal before they change anything.
class Server {
public:
  Server(const Limits &limits, RuleMaker makeRule, RequestTable::Clock clock);

  Budget &budget() { return memory; }
  ParameterStore &parameters() { return store; }

  /// Has no effect if the same request created the optimizer before. Throws AlreadyExists if
  /// another did.
  void createOptimizer(const std::string &name, const OptimizerRequest &request);
  /// Frees its contexts, too. Has no effect without such an optimizer.
  void deleteOptimizer(const std::string &name);
  void setHypers(const std::string &optimizer, size_t group, const Hypers &hypers);
  /// Throws NotFound.
  std::shared_ptr<const ServedOptimizer> optimizer(const std::string &name) const;

  /// Contexts are numbered by clients. Opening an open context has no effect.
  void openContext(const std::string &optimizer, uint64_t context);
  void releaseContext(const std::string &optimizer, uint64_t context);
  /// Adds all of the gradients or, on a refusal, none.
  void push(const std::string &optimizer, uint64_t context, const RequestKey &request,
            std::vector<Gradient> gradients);
  /// Returns the number of stepped parameters, also if the step was carried out before.
  int64_t step(const std::string &optimizer, uint64_t context, const RequestKey &request);

  Statistics statistics() const;

private:
  struct Entry {
    OptimizerRequest request;
    std::shared_ptr<ServedOptimizer> optimizer;
    std::map<uint64_t, std::shared_ptr<GradientContext>> contexts;
  };

  /// Throw NotFound. Called with `mutex` held.
  const Entry &entry(const std::string &name) const;
  Entry &entry(const std::string &name);
  static std::shared_ptr<GradientContext> contextOf(const Entry &entry, const std::string &name,
                                                    uint64_t context);

  Budget memory;
  ParameterStore store;
  RuleMaker makeRule;
  RequestTable answers;
  mutable std::mutex mutex;
  std::map<std::string, Entry> optimizers;
  std::atomic<uint64_t> steps = 0;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_SERVER_H
