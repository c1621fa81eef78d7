//===- Client.cpp - A client of parameter servers ---------------------------------------------===//

#include "updraft/dist/Client.h"

#include "runtime/base/DType.h"
#include "runtime/client/Lease.h"
#include "runtime/client/StateFiles.h"
#include "runtime/client/TensorWriter.h"
#include "runtime/client/Workers.h"
#include "runtime/messages/Polling.h"
#include "runtime/messages/TensorMessages.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <utility>

using namespace updraft::dist;
namespace messages = updraft::messages;
using updraft::TensorView;
using updraft::runtime::nameOf;
using updraft::runtime::sizeOf;

namespace {

constexpr size_t rowsPerMessage = size_t(1) << 17;

/// Throws for a type that workers don't take.
proto::DType typeOf(const std::string &name, upd_dtype dtype) {
  if (const auto type = messages::typeOf(dtype))
    return *type;
  throw std::invalid_argument(
      fmt::format("tensor `{}` is {}; workers take f32, f64, bf16 and f16", name, nameOf(dtype)));
}

size_t bytesOf(const TensorView &view) {
  size_t count = sizeOf(view.dtype());
  for (int64_t size : view.shape())
    count *= static_cast<size_t>(size);
  return count;
}

/// Throws unless the tensor is in row-major order and of a type that workers take.
void requireSendable(const std::string &name, const TensorView &view) {
  (void)typeOf(name, view.dtype());
  if (view.strides().size() == 0)
    return;
  int64_t expected = 1;
  for (size_t i = view.shape().size(); i-- > 0;) {
    if (view.shape()[i] != 1 && view.strides()[i] != expected)
      throw std::invalid_argument(
          fmt::format("tensor `{}` is not in row-major order; copy it first", name));
    expected *= view.shape()[i];
  }
}

/// Writes a tensor that `requireSendable` accepts, in chunks. `request` has what the first message
/// needs besides, and is cleared after that.
template <typename Request>
bool writeTensor(TensorWriter &writer, Request &request, const std::string &name,
                 const TensorView &view) {
  proto::TensorInfo info;
  info.set_name(name);
  info.set_dtype(typeOf(name, view.dtype()));
  info.mutable_shape()->Assign(view.shape().begin(), view.shape().end());
  return messages::splitIntoChunks(info, static_cast<const char *>(view.data()), bytesOf(view),
                                   [&](const proto::TensorChunk &chunk, std::string_view data) {
                                     const bool isWritten = writer.write(
                                         request, Request::kChunkFieldNumber, chunk, data);
                                     request.Clear();
                                     return isWritten;
                                   });
}

/// Copies a stream of chunks into the tensors of the caller.
class Receiver {
public:
  explicit Receiver(const std::map<std::string, TensorView> &into) : into(into) {}

  /// Throws std::invalid_argument for a tensor of another type or shape.
  void take(const proto::TensorChunk &chunk) {
    if (chunk.has_tensor())
      start(chunk.tensor());
    if (chunk.data().size() > bytes - received)
      throw std::invalid_argument(fmt::format("worker sent too many bytes of `{}`", name));
    if (!chunk.data().empty())
      std::memcpy(to + received, chunk.data().data(), chunk.data().size());
    received += chunk.data().size();
  }

private:
  void start(const proto::TensorInfo &info) {
    name = info.name();
    const TensorView &view = into.at(name);
    requireSendable(name, view);
    if (info.dtype() != typeOf(name, view.dtype()) ||
        !std::equal(info.shape().begin(), info.shape().end(), view.shape().begin(),
                    view.shape().end()))
      throw std::invalid_argument(
          fmt::format("parameter `{}` has another type or shape on its worker", name));
    to = static_cast<char *>(view.data());
    bytes = bytesOf(view);
    received = 0;
  }

  const std::map<std::string, TensorView> &into;
  std::string name;
  char *to = nullptr;
  size_t bytes = 0, received = 0;
};

/// A name that no other client has, not even an earlier process of the same one.
std::string uniqueName(const std::string &given) {
  std::random_device random;
  return fmt::format("{}/{:08x}{:08x}", given.empty() ? "client" : given, random(), random());
}

template <typename Keys> std::vector<size_t> workersOf(const Keys &byWorker) {
  std::vector<size_t> result;
  result.reserve(byWorker.size());
  for (const auto &[worker, value] : byWorker)
    result.push_back(worker);
  return result;
}

} // namespace

//===----------------------------------------------------------------------------------------===//
// Client
//===----------------------------------------------------------------------------------------===//

/// Shared by a client's objects.
struct updraft::dist::Connection {
  explicit Connection(const ClientOptions &options)
      : workers(options), lease(workers, uniqueName(options.name)) {}

  Workers workers;
  Lease lease;
};

Client::Client(const ClientOptions &options) : connection(std::make_shared<Connection>(options)) {}

void Client::put(const std::map<std::string, TensorView> &parameters) {
  std::map<std::string, size_t> bytes;
  for (const auto &[name, view] : parameters) {
    requireSendable(name, view);
    bytes.emplace(name, bytesOf(view));
  }
  const std::map<std::string, size_t> places = connection->workers.place(bytes);
  std::map<size_t, std::vector<std::string>> byWorker;
  for (const auto &[name, worker] : places)
    byWorker[worker].push_back(name);
  connection->workers.callEach(workersOf(byWorker), [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &, grpc::ClientContext &context) {
      proto::PutParametersResponse response;
      TensorWriter writer(connection->workers.channel(worker),
                          "/updraft.worker.v1.Worker/PutParameters", context, response,
                          connection->workers.memory());
      proto::PutParametersRequest request;
      for (const std::string &name : byWorker.at(worker))
        if (!writeTensor(writer, request, name, parameters.at(name)))
          break; // finish says why
      return writer.finish();
    };
  });
  connection->workers.setPlaces(places);
}

void Client::get(const std::map<std::string, TensorView> &parameters) {
  std::map<size_t, std::vector<std::string>> byWorker;
  for (const auto &[name, view] : parameters)
    byWorker[connection->workers.workerOf(name)].push_back(name);
  connection->workers.callEach(workersOf(byWorker), [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      proto::GetParametersRequest request;
      const std::vector<std::string> &names = byWorker.at(worker);
      request.mutable_names()->Assign(names.begin(), names.end());
      auto reader = stub.GetParameters(&context, request);
      Receiver receiver(parameters);
      proto::TensorChunk chunk;
      while (reader->Read(&chunk)) {
        receiver.take(chunk);
        if (chunk.has_tensor())
          connection->workers.setVersion(chunk.tensor().name(), chunk.tensor().version());
      }
      return reader->Finish();
    };
  });
}

std::map<std::string, uint64_t> Client::versions() {
  std::map<std::string, uint64_t> result;
  for (const proto::ListParametersResponse &listed : connection->workers.lists())
    for (const auto &parameter : listed.parameters())
      result[parameter.tensor().name()] = parameter.tensor().version();
  return result;
}

std::string Client::name() const { return connection->lease.current(); }

void Client::takeSnapshots() {
  connection->workers.callEach(connection->workers.all(), [](size_t) {
    return [](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      proto::TakeSnapshotResponse response;
      return stub.TakeSnapshot(&context, {}, &response);
    };
  });
}

//===----------------------------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------------------------===//

struct Optimizer::State {
  std::shared_ptr<Connection> connection;
  std::string name;
  std::vector<size_t> some;                             ///< the workers that have parameters of it
  std::vector<std::vector<size_t>> byGroup;             ///< of each group
  std::map<std::string, size_t> workerOf;               ///< by parameter
  std::map<size_t, std::map<size_t, uint32_t>> groupOn; ///< by worker, then by group

  /// Throws std::invalid_argument for a parameter of others.
  size_t placeOf(const std::string &parameter) const {
    const auto found = workerOf.find(parameter);
    if (found == workerOf.end())
      throw std::invalid_argument(
          fmt::format("the optimizer `{}` has no parameter `{}`", name, parameter));
    return found->second;
  }
};

Optimizer Client::createOptimizer(const std::string &name, const RuleText &rule,
                                  const std::vector<ParameterGroup> &groups, uint64_t seed) {
  auto state = std::make_shared<Optimizer::State>();
  state->connection = connection;
  state->name = name;
  if (std::all_of(groups.begin(), groups.end(),
                  [](const ParameterGroup &group) { return group.parameters.empty(); }))
    throw std::invalid_argument(fmt::format("the optimizer `{}` has no parameters", name));
  std::map<size_t, proto::CreateOptimizerRequest> requests;
  uint64_t number = 0; // over all workers
  for (size_t i = 0; i < groups.size(); ++i) {
    std::set<size_t> owners;
    for (const std::string &parameter : groups[i].parameters) {
      const size_t worker = connection->workers.workerOf(parameter);
      state->workerOf.emplace(parameter, worker);
      owners.insert(worker);
      auto [place, isNew] = state->groupOn[worker].try_emplace(
          i, static_cast<uint32_t>(state->groupOn[worker].size()));
      proto::CreateOptimizerRequest &request = requests[worker];
      if (isNew) {
        proto::ParameterGroup *added = request.add_groups();
        added->mutable_hyperparameters()->insert(groups[i].hypers.begin(), groups[i].hypers.end());
      }
      proto::ParameterGroup &group = *request.mutable_groups(static_cast<int>(place->second));
      group.add_parameters(parameter);
      group.add_numbers(number++);
    }
    for (size_t worker : owners)
      requests[worker]
          .mutable_groups(static_cast<int>(state->groupOn[worker].at(i)))
          ->set_is_part(owners.size() > 1);
    state->byGroup.emplace_back(owners.begin(), owners.end());
  }
  for (auto &[worker, request] : requests) {
    request.set_optimizer(name);
    request.mutable_rule()->set_source(rule.source);
    request.mutable_rule()->set_name(rule.name);
    request.mutable_rule()->mutable_settings()->insert(rule.settings.begin(), rule.settings.end());
    request.mutable_rule()->mutable_storage()->insert(rule.storage.begin(), rule.storage.end());
    request.mutable_rule()->set_numerics(rule.numerics);
    request.set_seed(seed);
    state->some.push_back(worker);
  }
  connection->workers.callEach(state->some, [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      proto::CreateOptimizerResponse response;
      return stub.CreateOptimizer(&context, requests.at(worker), &response);
    };
  });
  return Optimizer(std::move(state));
}

void Optimizer::setHypers(size_t group, const std::map<std::string, double> &hypers) {
  if (group >= state->byGroup.size())
    throw std::invalid_argument(fmt::format("the optimizer `{}` has no group {}; it has {}, from 0",
                                            state->name, group, state->byGroup.size()));
  state->connection->workers.callEach(state->byGroup[group], [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      proto::SetHyperparametersRequest request;
      proto::SetHyperparametersResponse response;
      request.set_optimizer(state->name);
      request.set_group(state->groupOn.at(worker).at(group));
      request.mutable_hyperparameters()->insert(hypers.begin(), hypers.end());
      return stub.SetHyperparameters(&context, request, &response);
    };
  });
}

std::string Optimizer::states() const {
  std::map<size_t, std::string> files;
  for (size_t worker : state->some)
    files[worker]; // the calls below are in several threads
  state->connection->workers.callEach(state->some, [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      proto::GetStatesRequest request;
      request.set_optimizer(state->name);
      auto reader = stub.GetStates(&context, request);
      std::string &file = files.at(worker);
      file.clear();
      proto::StatesChunk chunk;
      while (reader->Read(&chunk))
        file += chunk.data();
      return reader->Finish();
    };
  });
  std::vector<std::string> parts;
  parts.reserve(files.size());
  for (auto &[worker, file] : files)
    parts.push_back(std::move(file));
  return joinStates(parts);
}

void Optimizer::setStates(const std::string &file) {
  std::map<size_t, std::string> files =
      splitStates(file, [&](const std::string &parameter) { return state->placeOf(parameter); });
  for (size_t worker : state->some)
    files.try_emplace(worker, noStates());
  state->connection->workers.callEach(state->some, [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      proto::PutStatesResponse response;
      auto writer = stub.PutStates(&context, &response);
      proto::PutStatesRequest request;
      request.set_optimizer(state->name);
      const std::string &content = files.at(worker);
      for (size_t sent = 0; sent < content.size(); sent += messages::chunkBytes) {
        request.mutable_chunk()->set_data(content.data() + sent,
                                          std::min(messages::chunkBytes, content.size() - sent));
        if (!writer->Write(request))
          break; // Finish says why
        request.clear_optimizer();
      }
      writer->WritesDone();
      return writer->Finish();
    };
  });
}

//===----------------------------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------------------------===//

struct Context::State {
  struct Push {
    uint64_t number = 0;
    std::vector<std::string> parameters;
  };

  std::shared_ptr<Optimizer::State> optimizer;
  uint64_t number = 0;
  Lease::Name client;                 ///< the name that opened it
  std::optional<uint64_t> unanswered; ///< the number of the step, if it has failed
  bool isOfAll = false;               ///< whether that is all or none
  std::vector<Push> pushes;
  std::map<std::string, uint64_t> versions;  ///< of the parameters that were read
  std::optional<proto::Staleness> staleness; ///< without versions
  size_t nextPush = 0; ///< less than their number if gradients have to be pushed again
  size_t added = 0;    ///< how many of them all workers have had
  bool isLost = false; ///< on some worker

  ~State() {
    if (unanswered)
      workers().sequences().endStep(*unanswered);
  }
  Workers &workers() const { return optimizer->connection->workers; }
  proto::Context id() const {
    proto::Context result;
    result.set_optimizer(optimizer->name);
    result.set_number(number);
    return result;
  }
  /// For `most` at the longest. Workers that aren't reached free the gradients when the lease ends.
  void release(std::chrono::milliseconds most = std::chrono::milliseconds::max()) const {
    workers().failuresOfEach(
        optimizer->some,
        [&](size_t) {
          return [&](proto::Worker::Stub &stub, grpc::ClientContext &context) {
            proto::ReleaseContextRequest request;
            proto::ReleaseContextResponse response;
            *request.mutable_context() = id();
            request.set_client(*client);
            return stub.ReleaseContext(&context, request, &response);
          };
        },
        most);
  }
  std::vector<WorkerFailure> open(const std::vector<size_t> &some) const {
    return workers().failuresOfEach(some, [&](size_t) {
      return [&](proto::Worker::Stub &stub, grpc::ClientContext &context) {
        proto::OpenContextRequest request;
        proto::OpenContextResponse response;
        *request.mutable_context() = id();
        request.set_client(*client);
        return stub.OpenContext(&context, request, &response);
      };
    });
  }
  void openAgain();
  void check(std::vector<WorkerFailure> failures);
  int64_t step(const std::vector<size_t> &asked, bool ofAll);
  /// The number stays the same when the request is repeated.
  proto::RequestId request(uint64_t sequence) const {
    proto::RequestId result;
    result.set_client(*client);
    result.set_sequence(sequence);
    result.set_answered(workers().sequences().answered());
    return result;
  }
};

Context::Context(std::unique_ptr<State> state) : state(std::move(state)) {}
Context::Context(Context &&) noexcept = default;
Context &Context::operator=(Context &&other) noexcept {
  std::swap(state, other.state); // the destructor of `other` releases what this had
  return *this;
}

Context Optimizer::openContext() {
  std::random_device random;
  return openContext(uint64_t(random()) << 32 | random());
}

Context Optimizer::openContext(uint64_t number) {
  auto opened = std::make_unique<Context::State>();
  opened->optimizer = state;
  opened->number = number;
  for (const auto &[parameter, worker] : state->workerOf)
    if (const auto version = state->connection->workers.versionOf(parameter))
      opened->versions.emplace(parameter, *version);
  const auto open = [&] {
    opened->client = state->connection->lease.hold(state->some);
    std::vector<WorkerFailure> failures = opened->open(state->some);
    // Otherwise the other workers would keep it open for as long as the client lives.
    if (!failures.empty())
      opened->release(std::chrono::seconds(5));
    return failures;
  };
  std::vector<WorkerFailure> found = open();
  if (std::any_of(found.begin(), found.end(), [](const WorkerFailure &failure) {
        return failure.reason == "client-unknown";
      })) {
    state->connection->lease.renew();
    found = open();
  }
  if (!found.empty())
    throw WorkersFailed(std::move(found));
  return Context(std::move(opened));
}

Context::~Context() {
  if (!state)
    return;
  state->release();
}

/// Opens the context on workers that have lost it.
void Context::State::openAgain() {
  if (isLost)
    if (std::vector<WorkerFailure> failures = open(optimizer->some); !failures.empty())
      throw WorkersFailed(std::move(failures));
  isLost = false;
}

/// Throws if there are failures.
void Context::State::check(std::vector<WorkerFailure> failures) {
  if (failures.empty())
    return;
  isLost |= std::any_of(failures.begin(), failures.end(), [](const WorkerFailure &failure) {
    return failure.reason == "context-unknown";
  });
  if (!isLost)
    throw WorkersFailed(std::move(failures));
  nextPush = 0;
  throw ContextLost(std::move(failures));
}

/// Whether the worker has surely not added the gradients of the push.
static bool isRefusal(const WorkerFailure &failure) {
  switch (failure.code) {
  case grpc::StatusCode::INVALID_ARGUMENT:
  case grpc::StatusCode::FAILED_PRECONDITION:
  case grpc::StatusCode::RESOURCE_EXHAUSTED:
  case grpc::StatusCode::UNAUTHENTICATED:
  case grpc::StatusCode::PERMISSION_DENIED:
  case grpc::StatusCode::UNIMPLEMENTED:
    return true;
  case grpc::StatusCode::NOT_FOUND:
    return failure.reason != "context-unknown"; // its gradients are to be pushed again
  default:
    return false;
  }
}

void Context::push(const std::map<std::string, Gradient> &gradients) {
  std::map<size_t, std::vector<std::string>> byWorker;
  std::vector<std::string> parameters;
  for (const auto &[name, gradient] : gradients) {
    requireSendable(name, gradient.values);
    byWorker[state->optimizer->placeOf(name)].push_back(name);
    parameters.push_back(name);
  }
  state->openAgain();
  const bool isNew = state->nextPush == state->pushes.size();
  if (isNew)
    state->pushes.push_back({state->workers().sequences().next(), parameters});
  const State::Push &push = state->pushes[state->nextPush];
  if (push.parameters != parameters)
    throw std::invalid_argument(fmt::format(
        "push {} of the context is repeated, because some workers may not have it, and it had "
        "other parameters; push the same gradients again",
        state->nextPush + 1));
  const proto::RequestId id = state->request(push.number);
  std::atomic<size_t> calls = 0;
  const std::vector<size_t> asked = workersOf(byWorker);
  std::vector<WorkerFailure> failures = state->workers().failuresOfEach(asked, [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &, grpc::ClientContext &context) {
      ++calls;
      proto::PushGradientsResponse response;
      TensorWriter writer(state->workers().channel(worker),
                          "/updraft.worker.v1.Worker/PushGradients", context, response,
                          state->workers().memory());
      proto::PushGradientsRequest request;
      *request.mutable_context() = state->id();
      *request.mutable_request() = id;
      for (const std::string &name : byWorker.at(worker)) {
        const Gradient &gradient = gradients.at(name);
        // A gradient of no rows has a list, too.
        for (size_t begin = 0; gradient.isOfRows && begin <= gradient.rows.size();
             begin += rowsPerMessage) {
          const auto first = gradient.rows.begin() + static_cast<std::ptrdiff_t>(begin);
          const size_t count = std::min(rowsPerMessage, gradient.rows.size() - begin);
          request.mutable_rows()->mutable_indices()->Assign(
              first, first + static_cast<std::ptrdiff_t>(count));
          writer.write(request);
          request.Clear();
        }
        if (!writeTensor(writer, request, name, gradient.values))
          break; // finish says why
      }
      return writer.finish();
    };
  });
  // A worker may have added the gradients of a call before, whose answer was lost.
  if (isNew && !failures.empty() && calls == asked.size() && failures.size() == asked.size() &&
      std::all_of(failures.begin(), failures.end(), isRefusal))
    state->pushes.pop_back();
  state->check(std::move(failures));
  ++state->nextPush; // only now: after a failure, the next push is the same one
  state->added = std::max(state->added, state->nextPush);
}

/// Calls Step, and polls for the answer.
static grpc::Status callStep(proto::Worker::Stub &stub, grpc::ClientContext &context,
                             const proto::StepRequest &request, proto::StepResponse &response) {
  grpc::CompletionQueue queue;
  grpc::Status status;
  const auto call = stub.AsyncStep(&context, request, &queue);
  call->Finish(&response, &status, nullptr);
  void *tag = nullptr;
  bool isGood = false;
  messages::pollNext(queue, tag, isGood);
  return status;
}

int64_t Context::State::step(const std::vector<size_t> &asked, bool ofAll) {
  if (nextPush < added)
    throw std::invalid_argument(
        fmt::format("the workers have lost gradients, and {} of the context's {} pushes are "
                    "missing; push them again before the step",
                    pushes.size() - nextPush, pushes.size()));
  if (nextPush < pushes.size())
    throw std::invalid_argument(
        fmt::format("push {} of the context failed, and only some workers may have its gradients; "
                    "push the same gradients again before the step",
                    nextPush + 1));
  openAgain();
  if (!unanswered) {
    unanswered = workers().sequences().beginStep();
    isOfAll = ofAll;
  } else if (isOfAll != ofAll) {
    throw std::invalid_argument("the step has no answer yet, so it can only be repeated as it was: "
                                "on all workers or none, or on each by itself");
  }
  std::atomic<int64_t> stepped = 0;
  check(workers().failuresOfEach(asked, [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &stub, grpc::ClientContext &context) {
      proto::StepRequest request;
      proto::StepResponse response;
      *request.mutable_context() = id();
      *request.mutable_request() = this->request(*unanswered);
      for (size_t each : isOfAll ? optimizer->some : std::vector<size_t>())
        request.add_workers(workers().address(each));
      if (staleness) {
        *request.mutable_staleness() = *staleness;
        // The coordinator of a step of all passes the versions on.
        for (const auto &[parameter, version] : versions)
          if (isOfAll || optimizer->workerOf.at(parameter) == worker)
            request.mutable_staleness()->mutable_versions()->insert({parameter, version});
      }
      const grpc::Status status = callStep(stub, context, request, response);
      if (status.ok())
        stepped += response.stepped();
      return status;
    };
  }));
  workers().sequences().endStep(*unanswered);
  unanswered.reset();
  return stepped;
}

void Context::limitAge(uint64_t maxAge, bool scaleOld) {
  proto::Staleness &staleness = state->staleness.emplace();
  staleness.set_most(maxAge);
  staleness.set_late(scaleOld ? proto::Staleness::SCALE : proto::Staleness::REFUSE);
}

int64_t Context::step() { return state->step(state->optimizer->some, false); }

int64_t Context::stepAllOrNone() { return state->step({state->optimizer->some.front()}, true); }
