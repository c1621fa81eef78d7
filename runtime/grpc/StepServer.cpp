//===- StepServer.cpp - The threads that carry out steps --------------------------------------===//

#include "runtime/grpc/StepServer.h"

#include "runtime/dist/Waiting.h"
#include "runtime/messages/Polling.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <chrono>
#include <exception>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

using namespace updraft;
using namespace updraft::worker;

/// From its request to the moment when its answer was sent.
class StepServer::Call {
public:
  /// Waits for a request.
  Call(WorkerService &service, grpc::ServerCompletionQueue &queue)
      : service(service), answer(&context) {
    service.RequestStep(&context, &request, &answer, &queue, &queue, this);
  }

  /// Called when the queue returns the call. Returns whether its request has just come.
  bool begin() {
    if (isAnswered)
      return false;
    start = std::chrono::steady_clock::now();
    return true;
  }
  /// Carries out the step. The queue returns the call again once the answer was sent, and another
  /// thread may remove it then.
  void carryOut(const Observer &observer) {
    const grpc::Status status = service.step(context, request, response);
    const auto began = start;
    isAnswered = true;
    answer.Finish(response, status, this);
    if (observer) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
      observer(status.error_code(), taken.count());
    }
  }

private:
  WorkerService &service;
  grpc::ServerContext context;
  v1::StepRequest request;
  v1::StepResponse response;
  grpc::ServerAsyncResponseWriter<v1::StepResponse> answer;
  std::chrono::steady_clock::time_point start; ///< when a thread has taken the request
  bool isAnswered = false;
};

StepServer::StepServer(grpc::ServerBuilder &builder, WorkerService &service,
                       const std::string &address,
                       std::shared_ptr<grpc::ServerCredentials> credentials, Observer observer)
    : service(service), observer(std::move(observer)), queue(builder.AddCompletionQueue()) {
  threads.reserve(mostThreads);
  builder.RegisterService(&service);
  if (!address.empty())
    builder.AddListeningPort(address, std::move(credentials), &chosenPort);
  server = builder.BuildAndStart();
  if (!server)
    throw std::runtime_error(fmt::format(
        "cannot listen on `{}`; is the address one of this machine, and the port free?", address));
  {
    const std::lock_guard guard(mutex);
    if (!hasNext())
      throw std::runtime_error("the system refuses a thread for steps");
  }
  addCall(); // once a thread can take it
}

void StepServer::shutDown(std::chrono::system_clock::time_point deadline) {
  server->Shutdown(deadline);
  server->Wait();
  {
    // The answer of a step that outlasts the deadline still needs the queue.
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return calls == 0; });
  }
  queue->Shutdown();
  for (std::thread &thread : threads) // without calls, no thread is added
    thread.join();
  threads.clear();
}

/// The queue has the call until it is taken.
void StepServer::addCall() {
  {
    const std::lock_guard guard(mutex);
    ++calls;
  }
  new Call(service, *queue);
}

void StepServer::remove(Call *call) {
  delete call;
  const std::lock_guard guard(mutex);
  if (--calls == 0)
    ended.notify_all();
}

void StepServer::serve() {
  while (lead())
    while (Call *call = takeKept())
      call->carryOut(observer);
}

bool StepServer::lead() {
  std::unique_lock lock(leading);
  {
    const std::lock_guard guard(mutex);
    --idle;
  }
  while (lock.owns_lock()) {
    const auto [call, isAlone] = take();
    if (!call)
      return false;
    if (!canCarryOut(call)) {
      addCall();
      continue;
    }
    {
      const dist::Duty duty([&]() noexcept {
        addCall();
        lock.unlock();
      });
      if (!isAlone)
        dist::aboutToWait();
      call->carryOut(observer);
    }
    if (lock.owns_lock())
      addCall(); // after the answer, which doesn't have to wait for that
  }
  return true;
}

StepServer::Taken StepServer::take() {
  void *tag = nullptr;
  bool isGood = false;
  for (;;) {
    const grpc::CompletionQueue::NextStatus status =
        queue->AsyncNext(&tag, &isGood, gpr_inf_past(GPR_CLOCK_MONOTONIC));
    const bool isAlone = status == grpc::CompletionQueue::TIMEOUT;
    if (isAlone ? !messages::pollNext(*queue, tag, isGood)
                : status == grpc::CompletionQueue::SHUTDOWN)
      return {};
    auto *call = static_cast<Call *>(tag);
    if (isGood && call->begin())
      return {call, isAlone};
    remove(call);
  }
}

bool StepServer::canCarryOut(Call *call) {
  const std::lock_guard guard(mutex);
  if (hasNext() || threads.size() == 1)
    return true;
  kept.push_back(call);
  return false;
}

bool StepServer::hasNext() {
  if (idle > 0)
    return true;
  if (threads.size() == mostThreads)
    return false;
  try {
    threads.emplace_back([this] { serve(); });
  } catch (const std::exception &) { // the system refuses another thread
    return false;
  }
  ++idle;
  return true;
}

StepServer::Call *StepServer::takeKept() {
  const std::lock_guard guard(mutex);
  if (kept.empty()) {
    ++idle;
    return nullptr;
  }
  Call *const call = kept.front();
  kept.pop_front();
  return call;
}
