//===- Lease.cpp - Keeps a client registered with its workers ---------------------------------===//

#include "runtime/client/Lease.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <fmt/format.h>
#include <memory>
#include <utility>

using namespace updraft::dist;

Lease::Lease(Workers &workers, std::string given)
    : workers(workers), base(std::move(given)), name(base) {}

Lease::~Lease() {
  {
    const std::lock_guard guard(mutex);
    isStopped = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

std::string Lease::current() {
  const std::lock_guard guard(mutex);
  return name;
}

std::string Lease::hold(const std::vector<size_t> &some) {
  std::unique_lock lock(mutex);
  const std::string own = name;
  std::vector<size_t> missing;
  std::copy_if(some.begin(), some.end(), std::back_inserter(missing),
               [&](size_t worker) { return !registered.contains(worker); });
  if (missing.empty())
    return own;
  // Before workers are registered: if the thread doesn't start, the next call tries again.
  if (!thread.joinable())
    thread = std::thread([this] { renewUntilStopped(); });
  lock.unlock();
  std::atomic<uint32_t> shortest = UINT32_MAX;
  workers.callEach(missing, [&](size_t) {
    return [&](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      proto::RegisterRequest request;
      proto::RegisterResponse response;
      request.set_client(own);
      const grpc::Status status = stub.Register(&context, request, &response);
      for (uint32_t known = shortest; status.ok() && response.lease_seconds() < known;)
        if (shortest.compare_exchange_weak(known, response.lease_seconds()))
          break;
      return status;
    };
  });
  lock.lock();
  if (name == own)
    registered.insert(missing.begin(), missing.end());
  // Two renewals may fail before a lease ends.
  interval = std::min(
      interval, std::chrono::milliseconds(std::max<int64_t>(1000 * int64_t(shortest) / 3, 100)));
  changed.notify_all();
  return own;
}

void Lease::renew() {
  std::string own;
  std::set<size_t> some;
  std::chrono::milliseconds patience{};
  {
    const std::lock_guard guard(mutex);
    own = name;
    some = registered;
    patience = interval;
  }
  // At the same time, so that a worker that hangs doesn't cost others their leases.
  struct Call {
    grpc::ClientContext context;
    proto::KeepAliveResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<proto::KeepAliveResponse>> reader;
  };
  grpc::CompletionQueue queue;
  std::deque<Call> calls;
  proto::KeepAliveRequest request;
  request.set_client(own);
  for (size_t worker : some) {
    Call &call = calls.emplace_back();
    call.context.set_deadline(std::chrono::system_clock::now() + patience);
    workers.authorize(call.context);
    call.reader = workers.stub(worker).AsyncKeepAlive(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  void *tag = nullptr;
  bool isGood = false;
  for (size_t i = 0; i < calls.size(); ++i)
    queue.Next(&tag, &isGood);
  const bool isForgotten = std::any_of(calls.begin(), calls.end(), [](const Call &call) {
    return call.status.ok() && !call.response.is_registered();
  });
  const std::lock_guard guard(mutex);
  if (!isForgotten || name != own)
    return;
  name = fmt::format("{}.{}", base, ++names);
  registered.clear();
}

bool Lease::waitForRenewal() {
  const auto last = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  // `hold` may shorten the interval meanwhile.
  while (!isStopped && std::chrono::steady_clock::now() < last + interval)
    changed.wait_until(lock, last + interval);
  return !isStopped;
}

void Lease::renewUntilStopped() {
  while (waitForRenewal())
    renew();
}
