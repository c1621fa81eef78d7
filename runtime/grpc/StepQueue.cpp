//===- StepQueue.cpp - The threads that carry out steps ---------------------------------------===//

#include "runtime/grpc/StepQueue.h"

#include "runtime/dist/Waiting.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <system_error>

using namespace updraft;
using namespace updraft::worker;

/// From its request to the moment when its answer was sent.
class StepQueue::Call {
public:
  /// Waits for a request.
  Call(WorkerService &service, grpc::ServerCompletionQueue &queue)
      : service(service), answer(&context) {
    service.RequestStep(&context, &request, &answer, &queue, &queue, this);
  }

  /// Whether the request has come and the call isn't carried out yet.
  bool isNew() const { return !isAnswered; }
  /// Carries out the step. The queue returns the call again once the answer was sent.
  void carryOut() {
    const grpc::Status status = service.step(context, request, response);
    isAnswered = true;
    answer.Finish(response, status, this);
  }

private:
  WorkerService &service;
  grpc::ServerContext context;
  v1::StepRequest request;
  v1::StepResponse response;
  grpc::ServerAsyncResponseWriter<v1::StepResponse> answer;
  bool isAnswered = false;
};

StepQueue::StepQueue(grpc::ServerBuilder &builder, WorkerService &service)
    : service(service), queue(builder.AddCompletionQueue()) {}

void StepQueue::start() {
  new Call(service, *queue); // the queue has it until it is taken
  findThread();
}

void StepQueue::stop() {
  if (threads.empty())
    return;
  queue->Shutdown();
  for (std::thread &thread : threads) // no thread takes calls, so none is added
    thread.join();
  threads.clear();
}

void StepQueue::serve() {
  for (;;) {
    std::unique_lock lead(leading);
    {
      const std::lock_guard guard(mutex);
      --idle;
    }
    while (lead.owns_lock()) {
      const auto [call, isAlone] = take();
      if (!call)
        return;
      const dist::Duty duty([&] {
        if (findThread())
          lead.unlock();
      });
      if (!isAlone)
        dist::aboutToWait();
      call->carryOut(); // afterwards another thread may delete it
    }
    const std::lock_guard guard(mutex);
    ++idle;
  }
}

StepQueue::Taken StepQueue::take() {
  void *tag = nullptr;
  bool isGood = false;
  for (;;) {
    grpc::CompletionQueue::NextStatus status =
        queue->AsyncNext(&tag, &isGood, gpr_inf_past(GPR_CLOCK_MONOTONIC));
    const bool isAlone = status == grpc::CompletionQueue::TIMEOUT;
    if (isAlone ? !queue->Next(&tag, &isGood) : status == grpc::CompletionQueue::SHUTDOWN)
      return {};
    auto *call = static_cast<Call *>(tag);
    if (isGood && call->isNew()) {
      new Call(service, *queue);
      return {call, isAlone};
    }
    delete call;
  }
}

bool StepQueue::findThread() {
  const std::lock_guard guard(mutex);
  if (idle > 0)
    return true;
  if (threads.size() == mostThreads)
    return false;
  try {
    threads.emplace_back([this] { serve(); });
  } catch (const std::system_error &) { // the system has no more threads
    return false;
  }
  ++idle;
  return true;
}
