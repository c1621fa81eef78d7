//===- WorkerService.h - The gRPC service of a parameter server ---------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_GRPC_WORKERSERVICE_H
#define UPDRAFT_RUNTIME_GRPC_WORKERSERVICE_H

#include "runtime/grpc/Access.h"
#include "runtime/server/Server.h"
#include "updraft/worker/v1/worker.grpc.pb.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace updraft::worker {

struct Identity {
  std::string version;
  uint64_t epoch = 0;
  size_t largestMessage = 0;
};

/// Converts messages, and turns a Refusal into a status. gRPC's threads call all methods but Step,
/// which a StepServer calls. Thread-safe. `server`, `peers` and `access` outlive it.
class WorkerService final : public v1::Worker::WithAsyncMethod_Step<v1::Worker::Service> {
public:
  WorkerService(server::Server &server, server::Peers &peers, const Access &access,
                Identity identity);

  /// Carries out a step.
  grpc::Status step(grpc::ServerContext &context, const v1::StepRequest &request,
                    v1::StepResponse &response);

private:
  grpc::Status Describe(grpc::ServerContext *context, const v1::DescribeRequest *request,
                        v1::DescribeResponse *response) override;
  grpc::Status Register(grpc::ServerContext *context, const v1::RegisterRequest *request,
                        v1::RegisterResponse *response) override;
  grpc::Status KeepAlive(grpc::ServerContext *context, const v1::KeepAliveRequest *request,
                         v1::KeepAliveResponse *response) override;
  grpc::Status GetParameters(grpc::ServerContext *context, const v1::GetParametersRequest *request,
                             grpc::ServerWriter<v1::TensorChunk> *chunks) override;
  grpc::Status ListParameters(grpc::ServerContext *context,
                              const v1::ListParametersRequest *request,
                              v1::ListParametersResponse *response) override;
  grpc::Status CreateOptimizer(grpc::ServerContext *context,
                               const v1::CreateOptimizerRequest *request,
                               v1::CreateOptimizerResponse *response) override;
  grpc::Status DeleteOptimizer(grpc::ServerContext *context,
                               const v1::DeleteOptimizerRequest *request,
                               v1::DeleteOptimizerResponse *response) override;
  grpc::Status SetHyperparameters(grpc::ServerContext *context,
                                  const v1::SetHyperparametersRequest *request,
                                  v1::SetHyperparametersResponse *response) override;
  grpc::Status GetStates(grpc::ServerContext *context, const v1::GetStatesRequest *request,
                         grpc::ServerWriter<v1::StatesChunk> *chunks) override;
  grpc::Status PutStates(grpc::ServerContext *context,
                         grpc::ServerReader<v1::PutStatesRequest> *requests,
                         v1::PutStatesResponse *response) override;
  grpc::Status OpenContext(grpc::ServerContext *context, const v1::OpenContextRequest *request,
                           v1::OpenContextResponse *response) override;
  grpc::Status ReleaseContext(grpc::ServerContext *context,
                              const v1::ReleaseContextRequest *request,
                              v1::ReleaseContextResponse *response) override;
  grpc::Status TakeSnapshot(grpc::ServerContext *context, const v1::TakeSnapshotRequest *request,
                            v1::TakeSnapshotResponse *response) override;
  grpc::Status GetStatistics(grpc::ServerContext *context, const v1::GetStatisticsRequest *request,
                             v1::GetStatisticsResponse *response) override;

  // Methods whose messages have tensors take bytes, so that tensors are copied once.
  using Messages = grpc::ServerReader<grpc::ByteBuffer>;
  grpc::Status putParameters(grpc::ServerContext &context, Messages &messages);
  grpc::Status pushGradients(grpc::ServerContext &context, Messages &messages);
  template <typename Response>
  void takeBytes(const char *method,
                 grpc::Status (WorkerService::*handler)(grpc::ServerContext &, Messages &));

  server::Server &server;
  server::Peers &peers;
  const Access &access;
  const Identity identity;
};

} // namespace updraft::worker

#endif // UPDRAFT_RUNTIME_GRPC_WORKERSERVICE_H
