//===- updraft/dist/Client.h - A client of parameter servers ------------------------*- C++ -*-===//
// Trains parameters that are on workers: processes of updraft-worker (docs/parameter-server.md).
// Link Updraft::Client.
//
// Errors are exceptions. After std::invalid_argument nothing has changed. A request that fails with
// UNAVAILABLE or CANCELLED, such as one whose connection is lost, is repeated until
// ClientOptions::timeout is over. A worker applies a repeated push or step only once.
//
// Functions return when all workers have answered, and keep no views of the caller's memory.
// Tensors are f32, f64, bf16 or f16, in row-major order and on the CPU; others are refused.
// Client and Optimizer are thread-safe. Only one thread at a time may use a Context.

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
  int code;           ///< a grpc::StatusCode; worker.proto says which of them a retry helps
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

/// Some workers have lost the gradients of a context: they were started again, or the client's
/// lease has ended. Push all gradients again into the same Context, in the same order, and repeat
/// the step. Workers that have the gradients don't add them again, and workers that have stepped
/// don't step again. If other clients have pushed into the context, they have to push again before
/// the step, too.
class ContextLost : public WorkersFailed {
public:
  using WorkersFailed::WorkersFailed;
};

struct ClientOptions {
  /// Addresses, such as "127.0.0.1:7070". All clients that train together have the same.
  std::vector<std::string> workers;
  /// The beginning of the client's name, which a random number makes unique. Gradients are summed
  /// in the order of clients' names. The order is reproducible if all names differ, and none begins
  /// with another one and "/".
  std::string name = {};
  std::chrono::milliseconds timeout{60'000}; ///< of a request, with its repetitions
  std::string rootCertificates = {};         ///< PEM text of the workers' authority; empty: no TLS
  /// PEM texts of this client's own. Both are empty, or both are set and need `rootCertificates`.
  std::string certificate = {}, key = {};
  /// Sent with each request, unless it is empty; unencrypted without TLS.
  std::string token = {};
};

/// The text of a rule, and how it is compiled (updraft-c/compiler.h). Or a package in `source`,
/// which has the rest in it; then the other members are empty.
struct RuleText {
  std::string source;
  std::string name = {}; ///< which rule of the text; empty: the only one
  /// Static flags, and defaults of hyperparameters, such as {"nesterov", "true"}.
  std::map<std::string, std::string> settings = {};
  /// Storage types of "param", "grad" and states, such as {"param", "bf16"}; without them: f32.
  std::map<std::string, std::string> storage = {};
  std::string numerics = {}; ///< "ieee", "torch" or "fast"; empty: "ieee"
};

/// Parameters that share hyperparameters.
struct ParameterGroup {
  std::vector<std::string> parameters;       ///< names; an optimizer has a parameter only once
  std::map<std::string, double> hypers = {}; ///< those that aren't listed have the rule's defaults
};

/// The gradient of a parameter: of all of it, in its shape; or of the rows with these indices into
/// the first dimension, which may be in any order and repeat. Then the first dimension of `values`
/// is the number of indices. The type is the rule's type for gradients: f32, unless
/// RuleText::storage has "grad". `values` is a view, and must stay valid until `push` returns.
struct Gradient {
  Gradient(TensorView values) : values(std::move(values)) {}
  Gradient(std::vector<int64_t> rows, TensorView values)
      : isOfRows(true), rows(std::move(rows)), values(std::move(values)) {}

  bool isOfRows = false;
  std::vector<int64_t> rows;
  TensorView values;
};

/// Gradients on the workers, for a step. They are freed when all clients have released them. The
/// destructor releases them: it waits for the workers, at most for the timeout, and ignores errors.
/// Assigning swaps two contexts, so the right side releases what the left side had. Keeps the
/// connections of its Client.
class Context {
public:
  Context(Context &&) noexcept;
  Context &operator=(Context &&) noexcept;
  ~Context();

  /// Adds gradients, by parameter. Gradients of one parameter, of any pushes and clients, are
  /// summed. Throws std::invalid_argument, before any worker has them, for a parameter that the
  /// optimizer doesn't have and for a tensor of another type or in another order. Throws
  /// WorkersFailed, for example if the context was stepped, and ContextLost. After either, push the
  /// same gradients again before the step: a worker that has them doesn't add them again. Throws
  /// std::invalid_argument if they are of other parameters. If the codes of WorkersFailed say that
  /// all workers have refused the gradients, nothing was added, and others can be pushed instead.
  void push(const std::map<std::string, Gradient> &gradients);
  /// Steps on all workers that have parameters of the optimizer. Returns the number of parameters
  /// that had a gradient. Doesn't wait for pushes of other clients. Throws WorkersFailed or
  /// ContextLost if some workers fail; the others have stepped, and so may have those whose answers
  /// were lost. After an exception, repeat the step: a worker that has stepped doesn't step again.
  /// After ContextLost, push all gradients again before; otherwise throws std::invalid_argument.
  /// Throws it also after a push that failed, until that has been repeated.
  /// Another call after a success is another step, with the same gradients.
  int64_t step();
  /// The same, but all workers step or none. After UNAVAILABLE, CANCELLED, DEADLINE_EXCEEDED or the
  /// reason `outcome-unknown`, all may have stepped; repeat the step to learn whether they have.
  /// After other exceptions, none has. Workers need `--store` and `--durability=step`, and reach
  /// each other under the addresses that this client uses.
  int64_t stepAllOrNone();
  /// Limits the age of gradients in later steps. The age is the number of times that the parameter
  /// was written, by any client, since this client read it; what it read after it opened the
  /// context doesn't count. A step with an older gradient is refused with the reason `stale`; or,
  /// if `scaleOld` is set, the gradient is multiplied by (maxAge + 1) / (age + 1). Parameters that
  /// this client has not read are not limited. If clients share the context, the ages of the other
  /// clients' gradients are not checked.
  void limitAge(uint64_t maxAge, bool scaleOld = false);

private:
  friend class Optimizer;
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// An optimizer on the workers. Copies are the same optimizer. Keeps the connections of its Client.
class Optimizer {
public:
  /// Opens a context of this client. Throws WorkersFailed.
  Context openContext();
  /// Opens a context that clients share: all of them use the same number. Throws WorkersFailed.
  Context openContext(uint64_t number);
  /// Sets hyperparameters of a group, counted from 0 in the order of `createOptimizer`. Throws
  /// std::invalid_argument for another group, and WorkersFailed if the rule refuses a value; other
  /// workers may have set theirs.
  void setHypers(size_t group, const std::map<std::string, double> &hypers);

  /// Returns the states and step counts of the parameters that have stepped, as the content of a
  /// safetensors file: "state/PARAMETER/STATE". The values of one worker are of one moment. Throws
  /// WorkersFailed.
  std::string states() const;
  /// Replaces the states and step counts on all workers by those that `states` returned. Parameters
  /// may be on other workers than they were. Those that are missing lose their states.
  /// Hyperparameters stay. Throws std::invalid_argument for a file that isn't one of states or has
  /// other parameters, and WorkersFailed if a state has another type or shape, for example; the
  /// other workers have replaced theirs.
  void setStates(const std::string &file);

private:
  friend class Client;
  friend class Context;
  struct State;
  explicit Optimizer(std::shared_ptr<State> state) : state(std::move(state)) {}
  std::shared_ptr<State> state;
};

/// Thread-safe. Once it has opened a context, a thread tells the workers that the client is alive.
/// If the process ends without releasing its contexts, the workers free them when the client's
/// lease ends (`updraft-worker --lease`).
class Client {
public:
  /// Throws std::invalid_argument without workers, if an address is empty or listed twice, or if
  /// the certificate, its key or `rootCertificates` is missing beside another of them. Doesn't
  /// connect yet. Only the process that made a client can use it: in a fork, all requests fail.
  explicit Client(const ClientOptions &options);

  /// Writes parameters, by name. New ones are distributed so that workers have similar numbers of
  /// bytes. Others are overwritten. Throws WorkersFailed, for example if a parameter has another
  /// type or shape on its worker. Then some parameters may have been written.
  void put(const std::map<std::string, TensorView> &parameters);
  /// Reads parameters into memory of the caller, which is written until this returns. The values of
  /// one worker are of one moment. Throws std::invalid_argument if no worker has a parameter, and
  /// WorkersFailed, for example if a view has another type or shape than its parameter. Then the
  /// memory is unspecified.
  void get(const std::map<std::string, TensorView> &parameters);
  /// Returns how often each parameter on the workers has been written, by `put` and steps: the
  /// versions that Context::limitAge compares. Throws WorkersFailed.
  std::map<std::string, uint64_t> versions();

  /// Creates an optimizer of parameters that are on the workers, or finds the one that another
  /// client has created with the same arguments. One that is found keeps its present
  /// hyperparameters. `seed` is that of random numbers. Creating needs the role `admin`, finding
  /// the role `trainer`. Throws std::invalid_argument if no worker has a parameter, and
  /// WorkersFailed, for example if the rule has an error or another optimizer has the name; other
  /// workers may have created theirs.
  Optimizer createOptimizer(const std::string &name, const RuleText &rule,
                            const std::vector<ParameterGroup> &groups, uint64_t seed = 0);

  /// The name that workers know the client by. Another one once a worker has forgotten it.
  std::string name() const;

  /// Makes every worker write a snapshot. Returns when all are on the disk. Throws WorkersFailed
  /// if one fails; a worker without a store always does.
  void takeSnapshots();

private:
  std::shared_ptr<struct Connection> connection;
};

} // namespace updraft::dist

#endif // UPDRAFT_DIST_CLIENT_H
