//===- StepQueue.h - The threads that carry out steps -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_STEPQUEUE_H
#define UPDRAFT_RUNTIME_GRPC_STEPQUEUE_H

#include "runtime/grpc/WorkerService.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace updraft::worker {

/// Carries out the service's steps. One thread at a time takes calls. It carries out a step itself
/// if it is alone and takes less time than waking another thread. Otherwise it first lets another
/// thread take calls. gRPC's own threads always wake another one, which doubles the time of a call.
class StepQueue {
public:
  /// At most this number of steps is under way. Others wait.
  static constexpr size_t mostThreads = 64;

  /// Called before the server is built. `service` outlives this.
  StepQueue(grpc::ServerBuilder &builder, WorkerService &service);
  ~StepQueue() { stop(); }
  StepQueue(const StepQueue &) = delete;
  StepQueue &operator=(const StepQueue &) = delete;

  /// Called once the server is built.
  void start();
  /// Called once the server has shut down. Returns when all calls are answered.
  void stop();

private:
  class Call;

  void serve();
  struct Taken {
    Call *call = nullptr; ///< none at the end
    bool isAlone = false; ///< whether no call had come before this one was waited for
  };
  Taken take();
  /// Makes sure that a thread waits to take calls. Returns false if there are too many threads.
  bool findThread();

  WorkerService &service;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::mutex leading; ///< held by the thread that takes calls
  std::mutex mutex;   ///< guards what follows
  std::vector<std::thread> threads;
  size_t idle = 0; ///< threads that wait to take calls
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_STEPQUEUE_H
