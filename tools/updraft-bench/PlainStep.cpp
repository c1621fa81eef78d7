//===- PlainStep.cpp - A step behind one call of gRPC -----------------------------------------===//

#include "PlainStep.h"

#include "runtime/messages/Polling.h"
#include "updraft/worker/v1/worker.grpc.pb.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <stdexcept>

using namespace updraft;
using namespace updraft::bench;
using worker::v1::StepRequest;
using worker::v1::StepResponse;
using worker::v1::Worker;

//===----------------------------------------------------------------------------------------===//
// The server
//===----------------------------------------------------------------------------------------===//

namespace {
struct Call {
  grpc::ServerContext context;
  StepRequest request;
  StepResponse response;
  grpc::ServerAsyncResponseWriter<StepResponse> answer{&context};
  bool isAnswered = false;
};
} // namespace

int updraft::bench::plainStepServer(const StepSetup &setup) {
  Stepper local(setup);
  Worker::WithAsyncMethod_Step<Worker::Service> service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server)
    return 1;
  fmt::print("listening on 127.0.0.1:{}\n", port);
  std::fflush(stdout);

  const auto addCall = [&] {
    auto *call = new Call;
    service.RequestStep(&call->context, &call->request, &call->answer, queue.get(), queue.get(),
                        call);
  };
  addCall();
  void *tag = nullptr;
  bool isGood = false;
  while (messages::pollNext(*queue, tag, isGood)) { // until SIGTERM ends the process
    auto *call = static_cast<Call *>(tag);
    if (!isGood || call->isAnswered) {
      delete call;
      continue;
    }
    addCall();
    local.step();
    call->isAnswered = true;
    call->answer.Finish(call->response, grpc::Status::OK, call);
  }
  return 0;
}

//===----------------------------------------------------------------------------------------===//
// The client
//===----------------------------------------------------------------------------------------===//

struct PlainStep::Connection {
  std::unique_ptr<Worker::Stub> stub;
};

PlainStep::PlainStep(const std::string &address)
    : connection(new Connection{
          Worker::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))}) {}

PlainStep::~PlainStep() = default;

void PlainStep::step() {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  const auto call = connection->stub->AsyncStep(&context, StepRequest(), &queue);
  StepResponse response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void *tag = nullptr;
  bool isGood = false;
  messages::pollNext(queue, tag, isGood);
  if (!status.ok())
    throw std::runtime_error("the plain step failed: " + status.error_message());
}
