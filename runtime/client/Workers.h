//===- Workers.h - A client's connections to its workers ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CLIENT_WORKERS_H
#define UPDRAFT_RUNTIME_CLIENT_WORKERS_H

#include "runtime/client/Sequences.h"
#include "runtime/client/TensorWriter.h"
#include "updraft/dist/Client.h"
#include "updraft/worker/v1/worker.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace updraft::dist {

/// Thread-safe.
class Workers {
public:
  /// Throws std::invalid_argument without workers, if an address is empty or listed twice, or if
  /// the options for TLS are incomplete.
  explicit Workers(ClientOptions options);

  size_t size() const { return stubs.size(); }
  std::vector<size_t> all() const;
  const std::string &address(size_t worker) const { return options.workers[worker]; }
  proto::Worker::Stub &stub(size_t worker) { return *stubs[worker]; }
  grpc::Channel &channel(size_t worker) { return *channels[worker]; }
  MessageMemory &memory() { return *messageMemory; }
  /// Adds the token to a request.
  void authorize(grpc::ClientContext &context) const {
    if (!options.token.empty())
      context.AddMetadata("authorization", "Bearer " + options.token);
  }
  Sequences &sequences() { return numbers; }

  /// The worker that has a parameter. Asks all workers if it isn't known. Throws
  /// std::invalid_argument if none has it.
  size_t workerOf(const std::string &parameter);
  /// Chooses workers for parameters that no worker has, given by their numbers of bytes.
  std::map<std::string, size_t> place(const std::map<std::string, size_t> &bytes);
  /// The parameters of each worker. Throws WorkersFailed.
  std::vector<proto::ListParametersResponse> lists();
  /// The version of a parameter that was read; nothing if it was not.
  std::optional<uint64_t> versionOf(const std::string &parameter);
  void setVersion(const std::string &parameter, uint64_t version);
  void setPlaces(const std::map<std::string, size_t> &places);

  /// One call of a service's method.
  using Call = std::function<grpc::Status(proto::Worker::Stub &, grpc::ClientContext &)>;

  /// Calls each of the workers at the same time, and repeats calls that don't reach one. Throws
  /// WorkersFailed.
  void callEach(const std::vector<size_t> &some, const std::function<Call(size_t worker)> &callOf);
  /// The same, but returns the failures. The calls and their repetitions take at most the timeout,
  /// and at most `most`. In a fork of the client's process, all of them fail.
  std::vector<WorkerFailure>
  failuresOfEach(const std::vector<size_t> &some, const std::function<Call(size_t worker)> &callOf,
                 std::chrono::milliseconds most = std::chrono::milliseconds::max());
  /// Whether this process is a fork of the client's. Its requests would have the same numbers.
  bool isForked() const;

private:
  /// Returns the status and `updraft-reason`.
  std::pair<grpc::Status, std::string> callRepeatedly(size_t worker, const Call &call,
                                                      std::chrono::steady_clock::time_point end);
  void learnPlaces();

  const ClientOptions options;
  const pid_t process;
  const std::shared_ptr<MessageMemory> messageMemory = std::make_shared<MessageMemory>();
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  std::vector<std::unique_ptr<proto::Worker::Stub>> stubs;
  Sequences numbers;
  std::mutex mutex;
  std::map<std::string, size_t> places;
  std::map<std::string, uint64_t> versions; ///< of the parameters that were read
  std::vector<size_t> loads;                ///< bytes of parameters, by worker
};

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_CLIENT_WORKERS_H
