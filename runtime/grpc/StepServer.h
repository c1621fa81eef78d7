//===- StepServer.h - The threads that carry out steps ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_STEPSERVER_H
#define UPDRAFT_RUNTIME_GRPC_STEPSERVER_H

#include "runtime/grpc/WorkerService.h"

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/status_code_enum.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace updraft::worker {

/// A gRPC server with its own threads for steps. One thread leads: it takes the calls of Step. The
/// others carry out steps, or wait to lead. With a queue for these calls, gRPC's own threads don't
/// poll the connections, so the leader does that for all methods. It spins for a while before it
/// sleeps (runtime/messages/Polling.h). It may carry out a step itself if that takes less time than
/// waking another thread. Before it waits for anything but the queue, it lets another thread lead.
/// gRPC's own threads always wake another one, which doubles the time of a call.
class StepServer {
public:
  static constexpr size_t mostThreads = 64;
  /// At most this number of steps is under way. Others wait.
  static constexpr size_t mostSteps = mostThreads - 1;

  /// Called after each answer, with its code and the seconds since a thread has taken the request.
  /// Thread-safe.
  using Observer = std::function<void(grpc::StatusCode code, double seconds)>;

  /// Adds `service`, which outlives this, to the services of `builder`, and starts the server.
  /// Without an address, it serves channels of this process alone. Throws std::runtime_error if it
  /// can't listen, or the system refuses a thread.
  StepServer(grpc::ServerBuilder &builder, WorkerService &service, const std::string &address,
             std::shared_ptr<grpc::ServerCredentials> credentials, Observer observer = {});
  ~StepServer() { shutDown(std::chrono::system_clock::now()); }
  StepServer(const StepServer &) = delete;
  StepServer &operator=(const StepServer &) = delete;

  /// Another than that of the address if that is 0.
  int port() const { return chosenPort; }
  std::shared_ptr<grpc::Channel> channel() { return server->InProcessChannel({}); }

  /// Refuses new requests, and waits for those under way. They are cancelled at `deadline`, but a
  /// step that is being carried out ends. Has no effect the second time.
  void shutDown(std::chrono::system_clock::time_point deadline);

private:
  class Call;

  void serve();
  void addCall();
  void remove(Call *call);
  /// Takes and carries out calls, until another thread leads. Returns false at the end.
  bool lead();
  struct Taken {
    Call *call = nullptr; ///< none at the end
    bool isAlone = false; ///< whether no call had come before this one was waited for
  };
  Taken take();
  /// Makes sure that a thread waits to lead. Called with `mutex` held. Returns false if it can't.
  bool hasNext();
  /// Whether another thread can lead while this one carries out the call. Otherwise keeps the call
  /// for a thread whose step has ended, unless there is none.
  bool canCarryOut(Call *call);
  /// Returns a call that was kept. If there is none, counts this thread as idle.
  Call *takeKept();

  WorkerService &service;
  const Observer observer;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue;
  int chosenPort = 0;
  std::unique_ptr<grpc::Server> server;
  std::mutex leading; ///< held by the leader
  std::mutex mutex;   ///< guards what follows
  std::vector<std::thread> threads;
  size_t idle = 0; ///< threads that wait to lead
  std::deque<Call *> kept;
  size_t calls = 0; ///< that the queue has, or that are carried out
  std::condition_variable ended;
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_STEPSERVER_H
