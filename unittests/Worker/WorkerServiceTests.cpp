//===- WorkerServiceTests.cpp - The gRPC service over a socket --------------------------------===//

#include "RunningWorker.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace updraft;
using namespace updraft::worker;

namespace {

using Values = std::vector<float>;

class WorkerServiceTest : public testing::Test {
protected:
  WorkerServiceTest() { EXPECT_TRUE(registerClient("a").ok()); }

  static v1::TensorChunk chunkOf(const std::string &name, const Values &values) {
    v1::TensorChunk chunk;
    chunk.mutable_tensor()->set_name(name);
    chunk.mutable_tensor()->set_dtype(v1::DTYPE_F32);
    chunk.mutable_tensor()->add_shape(static_cast<int64_t>(values.size()));
    chunk.set_data(values.data(), values.size() * sizeof(float));
    return chunk;
  }

  grpc::Status put(const std::map<std::string, Values> &parameters) {
    grpc::ClientContext context;
    v1::PutParametersResponse response;
    auto writer = stub->PutParameters(&context, &response);
    for (const auto &[name, values] : parameters) {
      v1::PutParametersRequest request;
      *request.mutable_chunk() = chunkOf(name, values);
      writer->Write(request);
    }
    writer->WritesDone();
    return writer->Finish();
  }

  std::map<std::string, Values> get(const std::vector<std::string> &names = {}) {
    grpc::ClientContext context;
    v1::GetParametersRequest request;
    request.mutable_names()->Assign(names.begin(), names.end());
    auto reader = stub->GetParameters(&context, request);
    std::map<std::string, Values> result;
    v1::TensorChunk chunk;
    std::string name;
    while (reader->Read(&chunk)) {
      if (chunk.has_tensor())
        name = chunk.tensor().name();
      Values &values = result[name];
      const size_t before = values.size();
      values.resize(before + chunk.data().size() / sizeof(float));
      std::memcpy(values.data() + before, chunk.data().data(), chunk.data().size());
    }
    status = reader->Finish();
    return result;
  }

  /// An optimizer with one group.
  grpc::Status create(const std::string &source, const std::vector<std::string> &parameters,
                      double lr = 0.5) {
    grpc::ClientContext context;
    v1::CreateOptimizerRequest request;
    v1::CreateOptimizerResponse response;
    request.set_optimizer("o");
    request.mutable_rule()->set_source(source);
    v1::ParameterGroup *group = request.add_groups();
    group->mutable_parameters()->Assign(parameters.begin(), parameters.end());
    (*group->mutable_hyperparameters())["lr"] = lr;
    return stub->CreateOptimizer(&context, request, &response);
  }

  grpc::Status registerClient(const std::string &name) {
    grpc::ClientContext context;
    v1::RegisterRequest request;
    v1::RegisterResponse response;
    request.set_client(name);
    return stub->Register(&context, request, &response);
  }

  grpc::Status open(uint64_t number) {
    grpc::ClientContext context;
    v1::OpenContextRequest request;
    request.set_client("a");
    v1::OpenContextResponse response;
    request.mutable_context()->set_optimizer("o");
    request.mutable_context()->set_number(number);
    return stub->OpenContext(&context, request, &response);
  }

  v1::PushGradientsRequest pushOf(uint64_t number, uint64_t sequence, const std::string &name,
                                  const Values &values) {
    v1::PushGradientsRequest request;
    request.mutable_context()->set_optimizer("o");
    request.mutable_context()->set_number(number);
    request.mutable_request()->set_client("a");
    request.mutable_request()->set_sequence(sequence);
    *request.mutable_chunk() = chunkOf(name, values);
    return request;
  }

  grpc::Status push(const v1::PushGradientsRequest &request) {
    grpc::ClientContext context;
    v1::PushGradientsResponse response;
    auto writer = stub->PushGradients(&context, &response);
    writer->Write(request);
    writer->WritesDone();
    return writer->Finish();
  }

  /// Returns the number of stepped parameters, or sets `status`.
  int64_t step(uint64_t number, uint64_t sequence) {
    grpc::ClientContext context;
    v1::StepRequest request;
    v1::StepResponse response;
    request.mutable_context()->set_optimizer("o");
    request.mutable_context()->set_number(number);
    request.mutable_request()->set_client("a");
    request.mutable_request()->set_sequence(sequence);
    status = stub->Step(&context, request, &response);
    return response.stepped();
  }

  RunningWorker worker;
  std::unique_ptr<v1::Worker::Stub> stub = v1::Worker::NewStub(
      grpc::CreateChannel(worker.address(), grpc::InsecureChannelCredentials()));
  grpc::Status status;
};

void expectStatus(const grpc::Status &status, grpc::StatusCode code, const std::string &message) {
  EXPECT_EQ(status.error_code(), code);
  EXPECT_EQ(status.error_message(), message);
}

} // namespace

TEST_F(WorkerServiceTest, DescribesItself) {
  grpc::ClientContext context;
  v1::DescribeResponse response;
  ASSERT_TRUE(stub->Describe(&context, {}, &response).ok());
  EXPECT_EQ(response.version(), "updraft-worker test");
  EXPECT_EQ(response.epoch(), 7u);
  EXPECT_EQ(response.largest_message_bytes(), 4u << 20);
}

TEST_F(WorkerServiceTest, KeepsClientsAlive) {
  const auto isRegistered = [&](const std::string &name) {
    grpc::ClientContext context;
    v1::KeepAliveRequest request;
    v1::KeepAliveResponse response;
    request.set_client(name);
    EXPECT_TRUE(stub->KeepAlive(&context, request, &response).ok());
    EXPECT_EQ(response.epoch(), 7u);
    return response.is_registered();
  };
  EXPECT_TRUE(isRegistered("a"));
  EXPECT_FALSE(isRegistered("b"));
  expectStatus(registerClient(""), grpc::StatusCode::INVALID_ARGUMENT,
               "the name of a client has from 1 to 256 bytes, and no control characters");
}

TEST_F(WorkerServiceTest, ReturnsParametersAsTheyWerePut) {
  Values large(1'000'000);
  for (size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<float>(i);
  ASSERT_TRUE(put({{"v", {1, 2}}, {"w", large}}).ok());
  EXPECT_EQ(get(), (std::map<std::string, Values>{{"v", {1, 2}}, {"w", large}}));
  EXPECT_EQ(get({"v"}), (std::map<std::string, Values>{{"v", {1, 2}}}));
  get({"x"});
  expectStatus(status, grpc::StatusCode::NOT_FOUND,
               "the worker has no parameter `x`; put it first");
}

TEST_F(WorkerServiceTest, StepsOnceForEachRequest) {
  ASSERT_TRUE(put({{"v", {1, 2}}, {"w", {3}}}).ok());
  ASSERT_TRUE(create(textOfRule("sgd"), {"v", "w"}).ok());
  ASSERT_TRUE(create(textOfRule("sgd"), {"v", "w"}).ok());
  ASSERT_TRUE(open(1).ok());
  ASSERT_TRUE(push(pushOf(1, 1, "v", {2, 2})).ok());
  ASSERT_TRUE(push(pushOf(1, 1, "v", {2, 2})).ok());
  EXPECT_EQ(step(1, 2), 1);
  EXPECT_EQ(step(1, 2), 1);
  EXPECT_EQ(get(), (std::map<std::string, Values>{{"v", {0, 1}}, {"w", {3}}}));
  expectStatus(push(pushOf(1, 3, "v", {2, 2})), grpc::StatusCode::FAILED_PRECONDITION,
               "the context has been stepped, and takes no more gradients; open another");
}

TEST_F(WorkerServiceTest, RowsMayRepeat) {
  ASSERT_TRUE(put({{"v", {1, 2, 3}}}).ok());
  ASSERT_TRUE(create(textOfRule("sgd"), {"v"}).ok());
  ASSERT_TRUE(open(1).ok());
  v1::PushGradientsRequest request = pushOf(1, 1, "v", {2, 4, 6});
  for (int64_t row : {2, 0, 2})
    request.mutable_rows()->add_indices(row);
  ASSERT_TRUE(push(request).ok());
  EXPECT_EQ(step(1, 2), 1);
  EXPECT_EQ(get()["v"], (Values{-1, 2, -1}));
}

TEST_F(WorkerServiceTest, EmptyGradientsAreCounted) {
  ASSERT_TRUE(put({{"v", {1, 2, 3}}}).ok());
  ASSERT_TRUE(create(textOfRule("sgd"), {"v"}).ok());
  ASSERT_TRUE(open(1).ok());
  const size_t before = worker.server.statistics().tensorBytes;
  v1::PushGradientsRequest request = pushOf(1, 1, "v", {});
  request.mutable_rows(); // none
  ASSERT_TRUE(push(request).ok());
  EXPECT_GE(worker.server.statistics().tensorBytes, before + 100);
}

TEST_F(WorkerServiceTest, RowsMayComeInSeveralMessages) {
  ASSERT_TRUE(put({{"v", {1, 2, 3}}}).ok());
  ASSERT_TRUE(create(textOfRule("sgd"), {"v"}).ok());
  ASSERT_TRUE(open(1).ok());
  const auto pushRows = [&](uint64_t sequence, bool withValues) {
    grpc::ClientContext context;
    v1::PushGradientsResponse response;
    auto writer = stub->PushGradients(&context, &response);
    v1::PushGradientsRequest request = pushOf(1, sequence, "v", {2, 4, 6});
    request.clear_chunk();
    for (int64_t row : {2, 0}) {
      request.mutable_rows()->clear_indices();
      request.mutable_rows()->add_indices(row);
      writer->Write(request);
    }
    request.mutable_rows()->clear_indices();
    request.mutable_rows()->add_indices(2);
    if (withValues)
      *request.mutable_chunk() = chunkOf("v", {2, 4, 6});
    writer->Write(request);
    writer->WritesDone();
    return writer->Finish();
  };
  ASSERT_TRUE(pushRows(1, true).ok());
  expectStatus(pushRows(2, false), grpc::StatusCode::INVALID_ARGUMENT,
               "there are rows without a gradient");
  EXPECT_EQ(step(1, 3), 1);
  EXPECT_EQ(get()["v"], (Values{-1, 2, -1}));
}

TEST_F(WorkerServiceTest, ErrorsReachTheClient) {
  ASSERT_TRUE(put({{"v", {1, 2}}}).ok());
  expectStatus(create("rule", {"v"}), grpc::StatusCode::INVALID_ARGUMENT,
               create("rule", {"v"}).error_message());
  EXPECT_NE(create("rule", {"v"}).error_message().find("<rule>:1:5: error:"), std::string::npos);
  EXPECT_EQ(create(textOfRule("sgd"), {"v"}, -1).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  expectStatus(open(1), grpc::StatusCode::NOT_FOUND, "the worker has no optimizer `o`");
  ASSERT_TRUE(create(textOfRule("sgd"), {"v"}).ok());
  expectStatus(
      push(pushOf(1, 1, "v", {1, 1})), grpc::StatusCode::NOT_FOUND,
      "client `a` doesn't have context 1 of optimizer `o` open; it was released, or never opened");
  ASSERT_TRUE(open(1).ok());
  expectStatus(push(pushOf(1, 1, "x", {1})), grpc::StatusCode::NOT_FOUND,
               "the optimizer has no parameter `x`");
  expectStatus(push(pushOf(1, 0, "v", {1, 1})), grpc::StatusCode::INVALID_ARGUMENT,
               "the request has no client or no sequence; they identify it if it is repeated");
  expectStatus(push(pushOf(1, 1, "v", {1})), grpc::StatusCode::INVALID_ARGUMENT,
               "the gradient of `v` is f32 [1]; it must be f32 [2]");
  EXPECT_EQ(step(1, 2), 0);
}

TEST_F(WorkerServiceTest, ACancelledPushAddsNothing) {
  ASSERT_TRUE(put({{"v", {1, 2}}}).ok());
  ASSERT_TRUE(create(textOfRule("sgd"), {"v"}).ok());
  ASSERT_TRUE(open(1).ok());
  {
    grpc::ClientContext context;
    v1::PushGradientsResponse response;
    auto writer = stub->PushGradients(&context, &response);
    writer->Write(pushOf(1, 1, "v", {2, 2}));
    context.TryCancel();
    EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_EQ(step(1, 2), 0);
  EXPECT_EQ(get()["v"], (Values{1, 2}));
}
