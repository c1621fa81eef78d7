//===- StepQueue.h - The threads that carry out steps -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_STEPQUEUE_H
#define UPDRAFT_RUNTIME_GRPC_STEPQUEUE_H

#include "runtime/grpc/WorkerService.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace updraft::worker {

/// Carries out the service's steps. One thread leads: it takes the calls of Step. The others carry
/// out steps, or wait to lead. With such a queue, gRPC's own threads don't poll the connections, so
/// the leader does that for all methods. It may carry out a step itself if that takes less time
/// than waking another thread. Before it waits for anything but the queue, it lets another thread
/// lead. gRPC's own threads always wake another one, which doubles the time of a call.
class StepQueue {
public:
  static constexpr size_t mostThreads = 64;
  /// At most this number of steps is under way. Others wait.
  static constexpr size_t mostSteps = mostThreads - 1;

  /// Called before the server is built. `service` outlives this.
  StepQueue(grpc::ServerBuilder &builder, WorkerService &service);
  ~StepQueue() { stop(); }
  StepQueue(const StepQueue &) = delete;
  StepQueue &operator=(const StepQueue &) = delete;

  /// Called once the server is built.
  void start();
  /// Called once the server has shut down, and before it is destroyed. Returns when all steps have
  /// ended.
  void stop();

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
  const std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::mutex leading; ///< held by the leader
  std::mutex mutex;   ///< guards what follows
  std::vector<std::thread> threads;
  size_t idle = 0; ///< threads that wait to lead
  std::deque<Call *> kept;
  size_t calls = 0; ///< that the queue has, or that are carried out
  std::condition_variable ended;
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_STEPQUEUE_H
