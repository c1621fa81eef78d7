//===- Polling.h - Polling of gRPC's queues -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_MESSAGES_POLLING_H
#define UPDRAFT_RUNTIME_MESSAGES_POLLING_H

#include <grpcpp/completion_queue.h>

#include <chrono>
#include <thread>

namespace updraft::messages {

/// Takes the next event of `queue`, as Next does. Returns false if the queue was shut down and has
/// no more. Polls for 0.6 ms before it sleeps, because waking a thread takes a large part of a
/// small step's time. A small step, with its call, can take 0.4 ms. Yields in between, because
/// another thread of the step may need the core.
inline bool pollNext(grpc::CompletionQueue &queue, void *&tag, bool &isGood) {
  constexpr std::chrono::microseconds patience(600);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    const grpc::CompletionQueue::NextStatus status =
        queue.AsyncNext(&tag, &isGood, gpr_inf_past(GPR_CLOCK_MONOTONIC));
    if (status != grpc::CompletionQueue::TIMEOUT)
      return status == grpc::CompletionQueue::GOT_EVENT;
    std::this_thread::yield();
  }
  return queue.Next(&tag, &isGood);
}

} // namespace updraft::messages

#endif // UPDRAFT_RUNTIME_MESSAGES_POLLING_H
