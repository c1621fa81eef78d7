//===- updraft/dist/Client.h - A client of parameter servers ------------------------*- C++ -*-===//
// Trains parameters that are on workers: processes of updraft-worker (docs/parameter-server.md).
// Link Updraft::Client.
//
// Errors are exceptions. A request that gets no answer is repeated until its time is over; the
// worker carries it out once. Any thread may call these functions.

#ifndef UPDRAFT_DIST_CLIENT_H
#define UPDRAFT_DIST_CLIENT_H

#include "updraft/Rule.h"
#include "updraft/Tensor.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace updraft::dist {

/// The failure of a worker.
struct WorkerFailure {
  std::string worker; ///< its address
  int code;           ///< of gRPC
  std::string message;
  std::string reason = {}; ///< `updraft-reason` in worker.proto, or empty
};

/// Some workers failed. The message names each of them.
class WorkersFailed : public std::runtime_error {
public:
  explicit WorkersFailed(std::vector<WorkerFailure> failures);
  const std::vector<WorkerFailure> &failures() const { return list; }

private:
  std::vector<WorkerFailure> list;
};

/// Some workers have lost the gradients of a context, because they were started again. Push all
/// gradients again, in the same order, and repeat the step. Workers that have the gradients don't
/// add them again, and workers that have stepped don't step again.
class ContextLost : public WorkersFailed {
public:
  using WorkersFailed::WorkersFailed;
};

struct ClientOptions {
  std::vector<std::string> workers;          ///< addresses, such as "127.0.0.1:7070"
  std::string name;                          ///< another one for each client; empty: a random name
  std::chrono::milliseconds timeout{60'000}; ///< of a request, with its repetitions
  std::string rootCertificates = {};         ///< PEM text of the workers' authority; empty: no TLS
  std::string certificate = {}, key = {};    ///< PEM texts of this client's own; may be empty
  std::string token = {};                    ///< sent with each request, unless it is empty
};

/// The text of a rule, and how it is compiled (updraft-c/compiler.h).
struct RuleText {
  std::string source;
  std::string name = {}; ///< which rule of the text; empty: the only one
  std::map<std::string, std::string> settings = {};
  std::map<std::string, std::string> storage = {};
  std::string numerics = {};
};

/// Parameters that share hyperparameters. The others have the rule's defaults.
struct ParameterGroup {
  std::vector<std::string> parameters;
  std::map<std::string, double> hypers = {};
};

/// The gradient of a parameter: of all of it, or of the rows with these indices into the first
/// dimension, which may be in any order and repeat. Row-major, and on the CPU.
struct Gradient {
  Gradient(TensorView values) : values(std::move(values)) {}
  Gradient(std::vector<int64_t> rows, TensorView values)
      : isOfRows(true), rows(std::move(rows)), values(std::move(values)) {}

  bool isOfRows = false;
  std::vector<int64_t> rows;
  TensorView values;
};

/// Gradients on the workers, for steps. Its destructor releases them; they are freed when all
/// clients have released them.
class Context {
public:
  Context(Context &&) noexcept;
  Context &operator=(Context &&) noexcept;
  ~Context();

  /// Adds gradients, by parameter. Returns when all workers have them. Throws WorkersFailed or
  /// ContextLost.
  void push(const std::map<std::string, Gradient> &gradients);
  /// Steps on all workers that have parameters of the optimizer. Returns the number of stepped
  /// parameters. Throws WorkersFailed or ContextLost if some workers fail; the others have stepped.
  /// After an exception the step can be repeated; a worker that has stepped doesn't step again.
  int64_t step();
  /// The same, but all workers step or none. If this throws, none has stepped, unless the message
  /// says that the outcome is unknown. Workers need `--durability=step`, and reach each other under
  /// the addresses that this client uses.
  int64_t stepAllOrNone();
  /// Limits how often a parameter may have been written since this client read it last before it
  /// opened the context. Older gradients refuse a step, whose failure has the reason `stale`; or,
  /// if `scaleOld` is set, they are multiplied by (maxAge + 1) / (age + 1).
  void limitAge(uint64_t maxAge, bool scaleOld = false);

private:
  friend class Optimizer;
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// An optimizer on the workers.
class Optimizer {
public:
  /// A context of this client, or one that clients share: they choose its number.
  Context openContext();
  Context openContext(uint64_t number);
  void setHypers(size_t group, const std::map<std::string, double> &hypers);

  /// Returns the states and step counts of the parameters that have stepped, as the content of a
  /// safetensors file: "state/PARAMETER/STATE". The values of one worker are of one moment. Throws
  /// WorkersFailed.
  std::string states() const;
  /// Replaces the states and step counts on all workers by those that `states` returned. Parameters
  /// may be on other workers than they were. Those that are missing lose their states. Throws
  /// std::invalid_argument for a file that isn't one of states or has other parameters, and
  /// WorkersFailed if a state has another type or shape, for example; the other workers have
  /// replaced theirs.
  void setStates(const std::string &file);

private:
  friend class Client;
  friend class Context;
  struct State;
  explicit Optimizer(std::shared_ptr<State> state) : state(std::move(state)) {}
  std::shared_ptr<State> state;
};

/// Thread-safe. A thread tells the workers that the client is alive. When it ends without them
/// knowing, they free its contexts after a while.
class Client {
public:
  /// Throws std::invalid_argument without workers. Doesn't connect yet.
  explicit Client(ClientOptions options);

  /// Writes parameters. New ones are distributed so that workers have similar numbers of bytes.
  void put(const std::map<std::string, TensorView> &parameters);
  /// Reads parameters into memory of the caller. The values of one worker are of one moment.
  void get(const std::map<std::string, TensorView> &parameters);

  /// Creates an optimizer of parameters that are on the workers, or finds the one that another
  /// client has created with the same arguments.
  Optimizer createOptimizer(const std::string &name, const RuleText &rule,
                            const std::vector<ParameterGroup> &groups, uint64_t seed = 0);

  /// Makes every worker write a snapshot. Returns when all are on the disk. Throws WorkersFailed if
  /// a worker has no store, for example.
  void takeSnapshots();

private:
  std::shared_ptr<struct Connection> connection;
};

} // namespace updraft::dist

#endif // UPDRAFT_DIST_CLIENT_H
