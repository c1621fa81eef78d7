//===- Workers.cpp - A client's connections to its workers ------------------------------------===//

#include "runtime/client/Workers.h"

#include "runtime/messages/Reconnection.h"
#include "runtime/messages/TensorMessages.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <system_error>
#include <thread>
#include <unistd.h>

using namespace updraft::dist;

static std::string textOf(const std::vector<WorkerFailure> &failures) {
  std::string text;
  for (const WorkerFailure &failure : failures)
    text +=
        fmt::format("{}worker `{}`: {}", text.empty() ? "" : "; ", failure.worker, failure.message);
  return text;
}

static std::shared_ptr<grpc::ChannelCredentials> credentialsOf(const ClientOptions &options) {
  if (options.rootCertificates.empty())
    return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions files;
  files.pem_root_certs = options.rootCertificates;
  files.pem_cert_chain = options.certificate;
  files.pem_private_key = options.key;
  return grpc::SslCredentials(files);
}

WorkersFailed::WorkersFailed(std::vector<WorkerFailure> failures)
    : std::runtime_error(textOf(failures)), list(std::move(failures)) {}

Workers::Workers(ClientOptions given)
    : options(std::move(given)), process(::getpid()), loads(options.workers.size()) {
  if (options.workers.empty())
    throw std::invalid_argument("a client needs the address of a worker");
  const std::set<std::string> different(options.workers.begin(), options.workers.end());
  if (different.contains(""))
    throw std::invalid_argument("an address of a worker is empty");
  if (different.size() < options.workers.size())
    throw std::invalid_argument("an address of a worker is listed twice");
  if (options.certificate.empty() != options.key.empty())
    throw std::invalid_argument(fmt::format(
        "the client's options have a {} without a {}; set both or neither",
        options.key.empty() ? "certificate" : "key", options.key.empty() ? "key" : "certificate"));
  if (options.rootCertificates.empty() && !options.certificate.empty())
    throw std::invalid_argument(
        "the client's options have a certificate without `rootCertificates`, and its connections "
        "would not be encrypted; set the certificates of the workers' authority");
  for (const std::string &address : options.workers) {
    grpc::ChannelArguments arguments = updraft::messages::reconnectingSoon();
    // A worker's limit protects the worker. Chunks of parameters are smaller.
    arguments.SetMaxReceiveMessageSize(-1);
    channels.push_back(grpc::CreateCustomChannel(address, credentialsOf(options), arguments));
    stubs.push_back(proto::Worker::NewStub(channels.back()));
  }
}

/// Waits longer each time, and not always equally long, so that clients don't all return at once.
std::pair<grpc::Status, std::string>
Workers::callRepeatedly(size_t worker, const Call &call,
                        std::chrono::steady_clock::time_point end) {
  std::chrono::milliseconds longest(50);
  for (;;) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         (end - std::chrono::steady_clock::now()));
    authorize(context);
    const grpc::Status status = call(*stubs[worker], context);
    // A worker that ends cancels what it hasn't answered.
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE &&
        status.error_code() != grpc::StatusCode::CANCELLED) {
      const auto &details = context.GetServerTrailingMetadata();
      const auto reason = details.find("updraft-reason");
      return {status, reason == details.end()
                          ? std::string()
                          : std::string(reason->second.data(), reason->second.size())};
    }
    std::random_device random; // only now, because most calls need none
    const std::chrono::milliseconds wait(
        std::uniform_int_distribution<int64_t>(longest.count() / 2, longest.count())(random));
    if (std::chrono::steady_clock::now() + wait >= end)
      return {status, {}};
    std::this_thread::sleep_for(wait);
    longest = std::min(2 * longest, std::chrono::milliseconds(2000));
  }
}

void Workers::callEach(const std::vector<size_t> &some,
                       const std::function<Call(size_t worker)> &callOf) {
  if (std::vector<WorkerFailure> failures = failuresOfEach(some, callOf); !failures.empty())
    throw WorkersFailed(std::move(failures));
}

bool Workers::isForked() const { return ::getpid() != process; }

std::vector<WorkerFailure> Workers::failuresOfEach(const std::vector<size_t> &some,
                                                   const std::function<Call(size_t worker)> &callOf,
                                                   std::chrono::milliseconds most) {
  if (isForked()) {
    std::vector<WorkerFailure> failures;
    for (const size_t worker : some)
      failures.push_back({address(worker), grpc::StatusCode::FAILED_PRECONDITION,
                          "the client belongs to another process; create one in this process", ""});
    return failures;
  }
  // A longer time could not be added to the clock's. The system's clock may be set meanwhile.
  constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);
  const auto end = std::chrono::steady_clock::now() + std::min({options.timeout, most, longest});
  std::vector<std::pair<grpc::Status, std::string>> results(some.size());
  const auto run = [&](size_t i) {
    try {
      results[i] = callRepeatedly(some[i], callOf(some[i]), end);
    } catch (const std::exception &error) {
      results[i].first = {grpc::StatusCode::INTERNAL, error.what()};
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(some.size());
  try {
    while (threads.size() + 1 < some.size())
      threads.emplace_back(run, threads.size());
  } catch (const std::system_error &) {
    // The process can't start more threads. This one makes the other calls.
  }
  for (size_t i = threads.size(); i < some.size(); ++i)
    run(i);
  for (std::thread &thread : threads)
    thread.join();
  std::vector<WorkerFailure> failures;
  for (size_t i = 0; i < some.size(); ++i)
    if (const auto &[status, reason] = results[i]; !status.ok())
      failures.push_back(
          {options.workers[some[i]], status.error_code(), status.error_message(), reason});
  return failures;
}

std::vector<size_t> Workers::all() const {
  std::vector<size_t> result(size());
  std::iota(result.begin(), result.end(), size_t(0));
  return result;
}

std::vector<proto::ListParametersResponse> Workers::lists() {
  std::vector<proto::ListParametersResponse> lists(size());
  callEach(all(), [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      return stub.ListParameters(&context, {}, &lists[worker]);
    };
  });
  return lists;
}

void Workers::learnPlaces() {
  const std::vector<proto::ListParametersResponse> lists = this->lists();
  std::set<std::pair<std::string, size_t>> listed;
  for (size_t worker = 0; worker < lists.size(); ++worker)
    for (const auto &parameter : lists[worker].parameters())
      listed.emplace(parameter.tensor().name(), worker);
  const std::lock_guard guard(mutex);
  loads.assign(size(), 0);
  for (size_t worker = 0; worker < lists.size(); ++worker)
    for (const auto &parameter : lists[worker].parameters()) {
      // A worker that was started again may have lost it, and another one got it.
      const std::string &name = parameter.tensor().name();
      const auto [place, isNew] = places.emplace(name, worker);
      if (!listed.contains({name, place->second}))
        place->second = worker;
      loads[worker] += updraft::messages::bytesOf(parameter.tensor());
    }
}

size_t Workers::workerOf(const std::string &parameter) {
  const auto known = [&] {
    const std::lock_guard guard(mutex);
    const auto found = places.find(parameter);
    return found == places.end() ? size() : found->second;
  };
  if (known() == size())
    learnPlaces();
  const size_t worker = known();
  if (worker == size())
    throw std::invalid_argument(
        fmt::format("no worker has a parameter `{}`; put it first", parameter));
  return worker;
}

std::map<std::string, size_t> Workers::place(const std::map<std::string, size_t> &bytes) {
  learnPlaces();
  const std::lock_guard guard(mutex);
  std::map<std::string, size_t> result;
  std::vector<std::pair<size_t, std::string>> added;
  for (const auto &[name, count] : bytes)
    if (const auto found = places.find(name); found != places.end())
      result.emplace(name, found->second);
    else
      added.emplace_back(count, name);
  // The largest first, each to the worker with the fewest bytes.
  std::sort(added.begin(), added.end(), std::greater<>());
  for (const auto &[count, name] : added) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += count;
    result.emplace(name, static_cast<size_t>(least - loads.begin()));
  }
  return result;
}

void Workers::setPlaces(const std::map<std::string, size_t> &added) {
  const std::lock_guard guard(mutex);
  places.insert(added.begin(), added.end());
}

std::optional<uint64_t> Workers::versionOf(const std::string &parameter) {
  const std::lock_guard guard(mutex);
  const auto found = versions.find(parameter);
  return found == versions.end() ? std::nullopt : std::optional(found->second);
}

void Workers::setVersion(const std::string &parameter, uint64_t version) {
  const std::lock_guard guard(mutex);
  versions[parameter] = version;
}
