//===- WorkerService.cpp - The gRPC service of a parameter server -----------------------------===//

#include "runtime/grpc/WorkerService.h"

#include "runtime/grpc/Answer.h"
#include "runtime/grpc/SlicedMessage.h"
#include "runtime/grpc/TensorStream.h"
#include "runtime/messages/TensorMessages.h"
#include "runtime/server/Refusal.h"

#include <algorithm>
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/support/method_handler.h>
#include <optional>
#include <set>
#include <utility>
#include <vector>

using namespace updraft;
using namespace updraft::worker;
using server::Reason;
using server::Refusal;

namespace {

/// A limit on the rows of one gradient, because they are listed before their memory is counted.
constexpr size_t mostRows = size_t(1) << 26;

/// Throws if the client has gone or the deadline has passed, because a stream just ends then.
void requireWhole(const grpc::ServerContext &context) {
  if (context.IsCancelled())
    throw Refusal(Reason::Aborted, "the client cancelled the request, or its deadline has passed");
}

/// Reads a stream of requests, each of which has a TensorChunk.
template <typename Request> class RequestStream {
public:
  explicit RequestStream(grpc::ServerReader<grpc::ByteBuffer> &messages) : messages(messages) {}

  /// Returns false at the end. Throws InvalidArgument.
  bool next() {
    if (!messages.Read(&bytes))
      return false;
    if (!sliced.parse(bytes, Request::kChunkFieldNumber, message))
      throw Refusal(Reason::InvalidArgument,
                    fmt::format("a message isn't a {}", message.GetTypeName()));
    return true;
  }
  /// The data of its chunk isn't set.
  const Request &request() const { return message; }
  void read(TensorReader &reader) const { reader.read(message.chunk(), sliced.data()); }

private:
  grpc::ServerReader<grpc::ByteBuffer> &messages;
  grpc::ByteBuffer bytes;
  SlicedMessage sliced;
  Request message;
};

} // namespace

/// Replaces the handler of a method that streams requests.
template <typename Response>
void WorkerService::takeBytes(const char *method,
                              grpc::Status (WorkerService::*handler)(grpc::ServerContext &,
                                                                     Messages &)) {
  const auto *service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      v1::Worker::service_full_name());
  MarkMethodStreamed(
      service->FindMethodByName(method)->index(),
      new grpc::internal::ClientStreamingHandler<WorkerService, grpc::ByteBuffer, Response>(
          [handler](WorkerService *self, grpc::ServerContext *context, Messages *messages,
                    Response *) { return (self->*handler)(*context, *messages); },
          this));
}

WorkerService::WorkerService(server::Server &server, server::Peers &peers, const Access &access,
                             Identity identity)
    : server(server), peers(peers), access(access), identity(std::move(identity)) {
  takeBytes<v1::PutParametersResponse>("PutParameters", &WorkerService::putParameters);
  takeBytes<v1::PushGradientsResponse>("PushGradients", &WorkerService::pushGradients);
}

grpc::Status WorkerService::Describe(grpc::ServerContext *context, const v1::DescribeRequest *,
                                     v1::DescribeResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Reader, {});
    response->set_version(identity.version);
    response->set_epoch(identity.epoch);
    response->set_largest_message_bytes(identity.largestMessage);
  });
}

grpc::Status WorkerService::Register(grpc::ServerContext *context,
                                     const v1::RegisterRequest *request,
                                     v1::RegisterResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Trainer, {.client = request->client()});
    server.registerClient(request->client());
    response->set_lease_seconds(static_cast<uint32_t>(server.clients().lease().count()));
  });
}

grpc::Status WorkerService::KeepAlive(grpc::ServerContext *context,
                                      const v1::KeepAliveRequest *request,
                                      v1::KeepAliveResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Trainer, {.client = request->client()});
    response->set_is_registered(server.clients().renew(request->client()));
    response->set_epoch(identity.epoch);
  });
}

grpc::Status WorkerService::putParameters(grpc::ServerContext &context, Messages &messages) {
  return answer(context, __func__, [&] {
    access.require(context, Role::Admin, {.needsAll = true});
    uint64_t record = 0;
    TensorReader reader(server.budget(), [&](const std::string &name, server::Tensor tensor) {
      record = server.put(name, std::move(tensor));
    });
    RequestStream<v1::PutParametersRequest> requests(messages);
    while (requests.next())
      requests.read(reader);
    requireWhole(context);
    reader.finish();
    server.sync(record);
  });
}

grpc::Status WorkerService::GetParameters(grpc::ServerContext *context,
                                          const v1::GetParametersRequest *request,
                                          grpc::ServerWriter<v1::TensorChunk> *chunks) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Reader, {});
    if (std::set(request->names().begin(), request->names().end()).size() !=
        static_cast<size_t>(request->names_size()))
      throw Refusal(Reason::InvalidArgument, "a parameter is named twice");
    const server::Parameters found =
        request->names().empty()
            ? server.parameters().all()
            : server.parameters().find({request->names().begin(), request->names().end()});
    const std::vector<server::ParameterCopy> copies = server.copies(found);
    for (size_t i = 0; i < found.size(); ++i) {
      const server::Tensor &tensor = copies[i].tensor;
      v1::TensorInfo info = messages::infoOf(found[i]->name, tensor.dtype(), tensor.shape());
      info.set_version(copies[i].version);
      if (!messages::writeChunks(
              info, tensor.data(), tensor.bytes(),
              [&](const v1::TensorChunk &chunk) { return chunks->Write(chunk); }))
        return; // the client has gone
    }
  });
}

grpc::Status WorkerService::ListParameters(grpc::ServerContext *context,
                                           const v1::ListParametersRequest *,
                                           v1::ListParametersResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Reader, {});
    for (const auto &parameter : server.parameters().all()) {
      v1::ListParametersResponse::Parameter *listed = response->add_parameters();
      *listed->mutable_tensor() =
          messages::infoOf(parameter->name, parameter->tensor.dtype(), parameter->tensor.shape());
      listed->mutable_tensor()->set_version(parameter->version);
    }
  });
}

grpc::Status WorkerService::CreateOptimizer(grpc::ServerContext *context,
                                            const v1::CreateOptimizerRequest *request,
                                            v1::CreateOptimizerResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Trainer, {.optimizer = request->optimizer()});
    if (!server.hasOptimizer(*request)) {
      access.require(*context, Role::Admin, {.needsAll = true});
      server.createOptimizer(*request);
    }
    for (const auto &hypers : server.hypers(request->optimizer()))
      response->add_groups()->mutable_hyperparameters()->insert(hypers.begin(), hypers.end());
  });
}

grpc::Status WorkerService::DeleteOptimizer(grpc::ServerContext *context,
                                            const v1::DeleteOptimizerRequest *request,
                                            v1::DeleteOptimizerResponse *) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Admin, {.optimizer = request->optimizer()});
    server.deleteOptimizer(request->optimizer());
  });
}

grpc::Status WorkerService::SetHyperparameters(grpc::ServerContext *context,
                                               const v1::SetHyperparametersRequest *request,
                                               v1::SetHyperparametersResponse *) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Trainer, {.optimizer = request->optimizer()});
    server.setHypers(*request);
  });
}

grpc::Status WorkerService::GetStates(grpc::ServerContext *context,
                                      const v1::GetStatesRequest *request,
                                      grpc::ServerWriter<v1::StatesChunk> *chunks) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Reader, {.optimizer = request->optimizer()});
    const auto [file, reserved] = server.states(request->optimizer());
    v1::StatesChunk chunk;
    for (size_t sent = 0; sent < file.size(); sent += messages::chunkBytes) {
      chunk.set_data(file.data() + sent, std::min(messages::chunkBytes, file.size() - sent));
      if (!chunks->Write(chunk))
        return; // the client has gone
    }
  });
}

grpc::Status WorkerService::PutStates(grpc::ServerContext *context,
                                      grpc::ServerReader<v1::PutStatesRequest> *requests,
                                      v1::PutStatesResponse *) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Admin, {}); // before it waits for a message
    v1::PutStatesRequest request;
    if (!requests->Read(&request))
      throw Refusal(Reason::InvalidArgument, "the stream of states is empty");
    const std::string optimizer = request.optimizer();
    access.require(*context, Role::Admin, {.optimizer = optimizer});
    std::string file;
    server::Budget::Reservation reserved;
    do {
      const std::string &data = request.chunk().data();
      reserved.add(server.budget().reserve(data.size(), "a file of states"));
      file += data;
    } while (requests->Read(&request));
    requireWhole(*context);
    server.setStates(optimizer, file);
  });
}

grpc::Status WorkerService::OpenContext(grpc::ServerContext *context,
                                        const v1::OpenContextRequest *request,
                                        v1::OpenContextResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Trainer, {request->context().optimizer(), request->client()});
    server.openContext(request->context().optimizer(), request->context().number(),
                       request->client());
    response->set_epoch(server.isDurable() ? 0 : identity.epoch);
  });
}

grpc::Status WorkerService::pushGradients(grpc::ServerContext &context, Messages &messages) {
  return answer(context, __func__, [&] {
    access.require(context, Role::Trainer, {}); // before it waits for a message
    RequestStream<v1::PushGradientsRequest> requests(messages);
    if (!requests.next())
      throw Refusal(Reason::InvalidArgument, "the stream of gradients is empty");
    const v1::PushGradientsRequest &message = requests.request();
    const v1::Context into = message.context();
    access.require(context, Role::Trainer, {into.optimizer(), message.request().client()});
    const server::RequestKey request = checkedKey(message.request());
    const server::ClientTable::Request carriedOut(server.clients(), request.client);
    server.clients().acknowledge(request.client, message.request().answered());
    server::Budget &budget = carriedOut.budget();
    const auto optimizer = server.optimizer(into.optimizer());
    std::vector<server::Gradient> gradients;
    std::optional<std::vector<int64_t>> rows;
    server::Budget::Reservation reserved;
    TensorReader reader(budget, [&](const std::string &name, server::Tensor tensor) {
      reserved.add(budget.reserve(server::Budget::pageBytes, "a gradient"));
      gradients.push_back({optimizer->positionOf(name), std::exchange(rows, std::nullopt),
                           std::move(tensor), std::exchange(reserved, {})});
    });
    do {
      if (message.has_rows()) {
        const auto &indices = message.rows().indices();
        if (!rows)
          rows.emplace();
        if (rows->size() + static_cast<size_t>(indices.size()) > mostRows)
          throw Refusal(
              Reason::ResourceExhausted,
              fmt::format("a gradient has more than {} rows; push it in parts", mostRows));
        // Twice, because a list that grows has room for as many more.
        reserved.add(budget.reserve(static_cast<size_t>(indices.size()) * 2 * sizeof(int64_t),
                                    "the list of rows of a gradient"));
        rows->insert(rows->end(), indices.begin(), indices.end());
      }
      if (message.has_chunk())
        requests.read(reader);
    } while (requests.next());
    requireWhole(context);
    reader.finish();
    if (rows)
      throw Refusal(Reason::InvalidArgument, "there are rows without a gradient");
    server.push(into.optimizer(), into.number(), request, std::move(gradients), optimizer.get());
  });
}

grpc::Status WorkerService::step(grpc::ServerContext &context, const v1::StepRequest &request,
                                 v1::StepResponse &response) {
  return answer(context, "Step", [&] {
    access.require(context, Role::Trainer,
                   {request.context().optimizer(), request.request().client()});
    const v1::Context &from = request.context();
    const server::RequestKey key = checkedKey(request.request());
    server.clients().acknowledge(key.client, request.request().answered());
    const std::vector<std::string> workers(request.workers().begin(), request.workers().end());
    response.set_stepped(
        workers.empty() ? server.step(from.optimizer(), from.number(), key, request.staleness())
                        : server.stepAll(from.optimizer(), from.number(), key, workers, peers,
                                         request.staleness()));
  });
}

grpc::Status WorkerService::ReleaseContext(grpc::ServerContext *context,
                                           const v1::ReleaseContextRequest *request,
                                           v1::ReleaseContextResponse *) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Trainer, {request->context().optimizer(), request->client()});
    server.releaseContext(request->context().optimizer(), request->context().number(),
                          request->client());
  });
}

grpc::Status WorkerService::TakeSnapshot(grpc::ServerContext *context,
                                         const v1::TakeSnapshotRequest *,
                                         v1::TakeSnapshotResponse *) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Admin, {.needsAll = true});
    server.takeSnapshot();
  });
}

grpc::Status WorkerService::GetStatistics(grpc::ServerContext *context,
                                          const v1::GetStatisticsRequest *,
                                          v1::GetStatisticsResponse *response) {
  return answer(*context, __func__, [&] {
    access.require(*context, Role::Reader, {});
    const server::Statistics statistics = server.statistics();
    response->set_parameters(statistics.parameters);
    response->set_optimizers(statistics.optimizers);
    response->set_contexts(statistics.contexts);
    response->set_clients(statistics.clients);
    response->set_journal_bytes(statistics.journalBytes);
    response->set_remembered_answers(statistics.rememberedAnswers);
    response->set_tensor_bytes(statistics.tensorBytes);
    response->set_steps(statistics.steps);
  });
}
