//===- Lease.cpp - Keeps a client registered with its workers ---------------------------------===//

#include "runtime/client/Lease.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <memory>
#include <utility>

using namespace updraft::dist;

Lease::Lease(Workers &workers, std::string given)
    : workers(workers), base(std::move(given)),
      latest(std::make_shared<Registration>(Registration{base, {}})) {}

Lease::~Lease() {
  if (workers.isForked()) {
    static_cast<void>(waiting.release());
    return;
  }
  {
    const std::lock_guard guard(waiting->mutex);
    isStopped = true;
  }
  waiting->changed.notify_all();
  if (waiting->thread.joinable())
    waiting->thread.join();
}

std::string Lease::current() {
  const std::lock_guard guard(waiting->mutex);
  return latest->name;
}

Lease::Name Lease::hold(const std::vector<size_t> &some) {
  if (workers.isForked()) // before it waits for a mutex that a thread held, or starts one
    workers.callEach(some, nullptr);
  std::unique_lock lock(waiting->mutex);
  const std::shared_ptr<Registration> own = latest;
  const Name name(own, &own->name);
  std::vector<size_t> missing;
  std::copy_if(some.begin(), some.end(), std::back_inserter(missing),
               [&](size_t worker) { return !own->workers.contains(worker); });
  if (missing.empty())
    return name;
  // Before workers are registered: if the thread doesn't start, the next call tries again.
  if (!waiting->thread.joinable())
    waiting->thread = std::thread([this] { renewUntilStopped(); });
  lock.unlock();
  std::atomic<uint32_t> shortest = UINT32_MAX;
  workers.callEach(missing, [&](size_t) {
    return [&](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      proto::RegisterRequest request;
      proto::RegisterResponse response;
      request.set_client(own->name);
      const grpc::Status status = stub.Register(&context, request, &response);
      for (uint32_t known = shortest; status.ok() && response.lease_seconds() < known;)
        if (shortest.compare_exchange_weak(known, response.lease_seconds()))
          break;
      return status;
    };
  });
  lock.lock();
  own->workers.insert(missing.begin(), missing.end());
  // Two renewals may fail before a lease ends.
  interval = std::min(
      interval, std::chrono::milliseconds(std::max<int64_t>(1000 * int64_t(shortest) / 3, 100)));
  waiting->changed.notify_all();
  return name;
}

struct Lease::Renewal {
  std::shared_ptr<Registration> registration;
  size_t worker = 0;
  grpc::ClientContext context;
  proto::KeepAliveResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<proto::KeepAliveResponse>> reader;
};

void Lease::list(std::deque<Renewal> &renewals) {
  const auto add = [&](const std::shared_ptr<Registration> &registration) {
    for (size_t worker : registration->workers) {
      Renewal &renewal = renewals.emplace_back();
      renewal.registration = registration;
      renewal.worker = worker;
    }
  };
  add(latest);
  std::erase_if(earlier, [](const auto &each) { return each.expired(); });
  for (const std::weak_ptr<Registration> &each : earlier)
    if (const std::shared_ptr<Registration> held = each.lock())
      add(held);
}

void Lease::send(std::deque<Renewal> &renewals, std::chrono::milliseconds patience) {
  grpc::CompletionQueue queue;
  for (Renewal &renewal : renewals) {
    proto::KeepAliveRequest request;
    request.set_client(renewal.registration->name);
    renewal.context.set_deadline(std::chrono::system_clock::now() + patience);
    workers.authorize(renewal.context);
    renewal.reader = workers.stub(renewal.worker).AsyncKeepAlive(&renewal.context, request, &queue);
    renewal.reader->Finish(&renewal.response, &renewal.status, &renewal);
  }
  void *tag = nullptr;
  bool isGood = false;
  for (size_t i = 0; i < renewals.size(); ++i)
    queue.Next(&tag, &isGood);
}

/// For the answer to a renewal.
static constexpr std::chrono::seconds longestWait{5};

void Lease::renew() {
  std::deque<Renewal> renewals;
  std::unique_lock lock(waiting->mutex);
  list(renewals);
  // The next renewal is in time, although a worker hangs, and the destructor doesn't wait for long.
  const auto patience = std::min<std::chrono::milliseconds>(interval / 2, longestWait);
  lock.unlock();
  send(renewals, patience);
  lock.lock();
  bool isForgotten = false;
  for (const Renewal &renewal : renewals)
    if (renewal.status.ok() && !renewal.response.is_registered()) {
      renewal.registration->workers.erase(renewal.worker);
      isForgotten |= renewal.registration == latest;
    }
  if (!isForgotten)
    return;
  earlier.push_back(latest);
  latest = std::make_shared<Registration>(Registration{fmt::format("{}.{}", base, ++names), {}});
}

bool Lease::waitForRenewal(std::chrono::steady_clock::time_point last) {
  std::unique_lock lock(waiting->mutex);
  // `hold` may shorten the interval meanwhile.
  while (!isStopped && std::chrono::steady_clock::now() < last + interval)
    waiting->changed.wait_until(lock, last + interval);
  return !isStopped;
}

void Lease::renewUntilStopped() {
  for (auto last = std::chrono::steady_clock::now(); waitForRenewal(last);) {
    last = std::chrono::steady_clock::now(); // before the wait for answers
    renew();
  }
}
