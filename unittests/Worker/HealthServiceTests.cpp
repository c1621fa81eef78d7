//===- HealthServiceTests.cpp - gRPC's standard health checks ---------------------------------===//

#include "runtime/grpc/HealthService.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

using updraft::worker::HealthService;
using Health = grpc::health::v1::Health;
using Request = grpc::health::v1::HealthCheckRequest;
using Response = grpc::health::v1::HealthCheckResponse;

namespace {

class HealthServiceTest : public testing::Test {
protected:
  HealthServiceTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    stub = Health::NewStub(server->InProcessChannel({}));
  }
  ~HealthServiceTest() override { server->Shutdown(); }

  grpc::Status check(const std::string &name, Response &response) {
    grpc::ClientContext context;
    Request request;
    request.set_service(name);
    return stub->Check(&context, request, &response);
  }

  HealthService service;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Health::Stub> stub;
};

/// A call of Watch that has got its first answer.
struct Watcher {
  Watcher(Health::Stub &stub, const std::string &name) {
    Request request;
    request.set_service(name);
    reader = stub.Watch(&context, request);
    isAnswered = reader->Read(&response);
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<Response>> reader;
  Response response;
  bool isAnswered = false;
};

} // namespace

TEST_F(HealthServiceTest, ChecksTheServerAndItsServices) {
  for (const char *name : {"", "updraft.worker.v1.Worker", "updraft.worker.v1.Peer"}) {
    Response response;
    EXPECT_TRUE(check(name, response).ok()) << name;
    EXPECT_EQ(response.status(), Response::SERVING) << name;
  }
  Response response;
  EXPECT_EQ(check("other", response).error_code(), grpc::StatusCode::NOT_FOUND);
  service.stopServing();
  EXPECT_TRUE(check("", response).ok());
  EXPECT_EQ(response.status(), Response::NOT_SERVING);
}

TEST_F(HealthServiceTest, TellsWatchersOfTheEnd) {
  Watcher watcher(*stub, ""), stranger(*stub, "other");
  EXPECT_EQ(watcher.response.status(), Response::SERVING);
  EXPECT_EQ(stranger.response.status(), Response::SERVICE_UNKNOWN);
  service.stopServing();
  EXPECT_TRUE(watcher.reader->Read(&watcher.response));
  EXPECT_EQ(watcher.response.status(), Response::NOT_SERVING);
  for (Watcher *each : {&watcher, &stranger}) {
    EXPECT_FALSE(each->reader->Read(&each->response));
    EXPECT_EQ(each->reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_F(HealthServiceTest, HasAPlaceForAWatcherWhenAnotherHasGone) {
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (size_t i = 0; i < HealthService::mostWatchers; ++i)
    watchers.push_back(std::make_unique<Watcher>(*stub, ""));
  EXPECT_TRUE(watchers.back()->isAnswered);
  Watcher late(*stub, "");
  EXPECT_FALSE(late.isAnswered);
  EXPECT_EQ(late.reader->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  watchers.front()->context.TryCancel();
  EXPECT_EQ(watchers.front()->reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool isAnswered = false;
  while (!isAnswered && std::chrono::steady_clock::now() < end)
    isAnswered = Watcher(*stub, "").isAnswered;
  EXPECT_TRUE(isAnswered);
  service.stopServing();
}
