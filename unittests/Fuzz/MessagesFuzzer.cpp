//===- MessagesFuzzer.cpp - Requests to a parameter server ------------------------------------===//
// A worker answers every request, never with an unexpected exception, and serves others afterwards.
// The input is a sequence of messages: a method's number, the length in two bytes, and the message.
// A message whose number has the highest bit set follows the previous one, if that is in a stream.

#include "FuzzTarget.h"

#include "runtime/grpc/PeerService.h"
#include "runtime/grpc/StepServer.h"
#include "runtime/grpc/WorkerService.h"
#include "tools/updraft-worker/RuleSource.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>

using namespace updraft;
using namespace updraft::fuzz;
using grpc::ByteBuffer;

namespace {

constexpr unsigned char continues = 0x80;
constexpr size_t largestMessage = size_t(1) << 20;

struct Method {
  std::string name; ///< "/updraft.worker.v1.Worker/Step"
  bool takesStream = false;
};
struct Call {
  std::string method;
  std::vector<std::string> messages;
};

/// In the order of the services' descriptors.
std::vector<Method> methods() {
  std::vector<Method> result;
  const auto *pool = google::protobuf::DescriptorPool::generated_pool();
  for (const char *name :
       {worker::v1::Worker::service_full_name(), worker::v1::Peer::service_full_name()}) {
    const auto *service = pool->FindServiceByName(name);
    for (int i = 0; i < service->method_count(); ++i)
      result.push_back({std::string("/") + name + "/" + service->method(i)->name(),
                        service->method(i)->client_streaming()});
  }
  return result;
}

std::vector<Call> callsOf(std::string_view input) {
  static const std::vector<Method> all = methods();
  std::vector<Call> result;
  bool isStream = false;
  while (input.size() >= 3) {
    const auto at = [&](size_t i) { return static_cast<unsigned char>(input[i]); };
    const size_t length = std::min<size_t>(at(1) | at(2) << 8, input.size() - 3);
    if (!(at(0) & continues) || !isStream) {
      const Method &method = all[(at(0) & ~continues) % all.size()];
      isStream = method.takesStream;
      result.push_back({method.name, {}});
    }
    result.back().messages.emplace_back(input.substr(3, length));
    input.remove_prefix(3 + length);
  }
  return result;
}

class RunningWorker {
public:
  RunningWorker()
      : server(limits(), worker::packSource, std::chrono::steady_clock::now),
        peers({1, std::chrono::seconds(1), nullptr, "", std::set<std::string>()}),
        peerService(server, peers, everyone),
        service(server, peers, everyone, {"updraft-worker fuzz", 1, largestMessage}) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&peerService);
    builder.SetMaxReceiveMessageSize(largestMessage);
    serving.emplace(builder, service, "", nullptr);
    channel = serving->channel();
  }

  grpc::Status carryOut(const Call &call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    grpc::CompletionQueue queue;
    grpc::GenericStub stub(channel);
    const auto stream = stub.PrepareCall(&context, call.method, &queue);
    const auto done = [&] {
      void *tag = nullptr;
      bool isGood = false;
      return queue.Next(&tag, &isGood) && isGood;
    };
    stream->StartCall(nullptr);
    bool isOpen = done();
    for (const std::string &message : call.messages) {
      if (!isOpen)
        break;
      const grpc::Slice slice(message);
      stream->Write(ByteBuffer(&slice, 1), nullptr);
      isOpen = done();
    }
    if (isOpen) {
      stream->WritesDone(nullptr);
      done();
    }
    for (ByteBuffer answer;;) {
      stream->Read(&answer, nullptr);
      if (!done())
        break;
    }
    grpc::Status status;
    stream->Finish(&status, nullptr);
    done();
    return status;
  }

  server::Statistics statistics() { return server.statistics(); }

private:
  static server::Limits limits() {
    server::Limits result;
    result.tensorBytes = size_t(64) << 20;
    result.patience = {};
    return result;
  }

  server::Server server;
  worker::Everyone everyone;
  worker::PeerChannels peers; ///< to none
  worker::PeerService peerService;
  worker::WorkerService service;
  std::optional<worker::StepServer> serving;
  std::shared_ptr<grpc::Channel> channel;
};

/// A training of two steps that reads everything, too.
std::vector<Call> training() {
  using namespace worker::v1;
  const std::string prefix = std::string("/") + Worker::service_full_name() + "/";
  std::vector<Call> result;
  const auto add = [&](const char *method, const google::protobuf::Message &message) {
    result.push_back({prefix + method, {message.SerializeAsString()}});
  };
  PutParametersRequest put;
  *put.mutable_chunk()->mutable_tensor()->mutable_name() = "w";
  put.mutable_chunk()->mutable_tensor()->set_dtype(DTYPE_F32);
  put.mutable_chunk()->mutable_tensor()->add_shape(2);
  put.mutable_chunk()->mutable_tensor()->add_shape(1);
  put.mutable_chunk()->set_data(std::string(8, '\0'));
  add("PutParameters", put);
  CreateOptimizerRequest create;
  create.set_optimizer("o");
  create.mutable_rule()->set_source(
      "rule R(lr = 1) { state m = 0 update(param, grad) { next m = m + grad "
      "next param = param - lr * m } }");
  create.add_groups()->add_parameters("w");
  add("CreateOptimizer", create);
  RegisterRequest client;
  client.set_client("c");
  add("Register", client);
  SetHyperparametersRequest hypers;
  hypers.set_optimizer("o");
  (*hypers.mutable_hyperparameters())["lr"] = 0.5;
  add("SetHyperparameters", hypers);
  for (uint64_t step = 1; step <= 2; ++step) {
    OpenContextRequest open;
    open.mutable_context()->set_optimizer("o");
    open.mutable_context()->set_number(step);
    open.set_client("c");
    add("OpenContext", open);
    PushGradientsRequest push;
    *push.mutable_context() = open.context();
    push.mutable_request()->set_client("c");
    push.mutable_request()->set_sequence(2 * step);
    *push.mutable_chunk()->mutable_tensor() = put.chunk().tensor();
    if (step == 2) {
      push.mutable_rows()->add_indices(1);
      push.mutable_chunk()->mutable_tensor()->set_shape(0, 1);
    }
    push.mutable_chunk()->set_data(std::string(4, '\0'));
    add("PushGradients", push);
    PushGradientsRequest more;
    more.mutable_chunk()->set_data(std::string(4, '\0'));
    if (step == 1)
      result.back().messages.push_back(more.SerializeAsString());
    StepRequest take;
    *take.mutable_context() = open.context();
    *take.mutable_request() = push.request();
    take.mutable_request()->set_sequence(2 * step + 1);
    (*take.mutable_staleness()->mutable_versions())["w"] = 1;
    take.mutable_staleness()->set_most(1);
    add("Step", take);
    ReleaseContextRequest release;
    *release.mutable_context() = open.context();
    release.set_client("c");
    add("ReleaseContext", release);
  }
  GetParametersRequest get;
  get.add_names("w");
  add("GetParameters", get);
  GetStatesRequest states;
  states.set_optimizer("o");
  add("GetStates", states);
  add("GetStatistics", GetStatisticsRequest());
  return result;
}

void run(std::string_view input) {
  const std::vector<Call> calls = callsOf(input);
  if (calls.empty())
    return;
  RunningWorker worker;
  for (const Call &call : calls) {
    const grpc::Status status = worker.carryOut(call);
    // gRPC's answers to bytes that aren't a message, of synchronous and of asynchronous calls.
    const bool isUnparsed =
        status.error_message().empty() || status.error_message() == "Unable to parse request";
    if ((status.error_code() == grpc::StatusCode::INTERNAL && !isUnparsed) ||
        status.error_code() == grpc::StatusCode::UNKNOWN ||
        status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
      finding(call.method + ": " + status.error_message());
  }
  if (worker.statistics().tensorBytes > size_t(64) << 20)
    finding("the worker holds more than its limit");
  worker::v1::DescribeRequest describe;
  const grpc::Status status =
      worker.carryOut({"/updraft.worker.v1.Worker/Describe", {describe.SerializeAsString()}});
  if (!status.ok())
    finding("the worker doesn't serve any more: " + status.error_message());
}

/// The bytes of calls that `callsOf` reads.
std::string bytesOf(const std::vector<Call> &calls) {
  const std::vector<Method> all = methods();
  std::string result;
  for (const Call &call : calls) {
    const auto found = std::find_if(
        all.begin(), all.end(), [&](const Method &method) { return method.name == call.method; });
    auto number = static_cast<unsigned char>(found - all.begin());
    for (const std::string &message : call.messages) {
      result += static_cast<char>(number);
      result += static_cast<char>(message.size() & 0xff);
      result += static_cast<char>(message.size() >> 8);
      result += message;
      number |= continues;
    }
  }
  return result;
}

std::vector<Seed> seeds() {
  std::vector<Seed> result;
  const std::vector<Call> all = training();
  for (size_t count = 1; count <= all.size(); ++count)
    result.push_back({"training-" + std::to_string(count),
                      bytesOf({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)})});
  // Each seed must do what it is meant to do, or the fuzzer starts from refusals.
  RunningWorker worker;
  for (const Call &call : all)
    if (const grpc::Status status = worker.carryOut(call); !status.ok())
      finding("a seed is refused: " + call.method + ": " + status.error_message());
  return result;
}

} // namespace

const FuzzTarget updraft::fuzz::messagesTarget = {"messages", run, seeds, nullptr};
