//===- ServerSnapshots.cpp - Writing and reading a server's store -----------------------------===//

#include "runtime/base/DType.h"
#include "runtime/base/Safetensors.h"
#include "runtime/messages/TensorMessages.h"
#include "runtime/server/Refusal.h"
#include "runtime/server/Server.h"
#include "runtime/store/StoreError.h"

#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace updraft;
using namespace updraft::server;
using updraft::runtime::SafetensorsEntry;
using updraft::runtime::SafetensorsFile;
using updraft::runtime::SafetensorsSink;
using updraft::runtime::SafetensorsWriter;
using updraft::runtime::Status;
using updraft::store::StoreError;

// The names in a snapshot's file of parameters are those of docs/runtime.md, "Files".
static constexpr std::string_view paramPrefix = "param/";
static constexpr std::string_view versionKey = "updraft.version.";

[[noreturn]] static void damaged(const std::string &message) {
  throw StoreError(StoreError::Kind::Damaged, message);
}

//===----------------------------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------------------------===//

static std::string fileOf(const Parameters &parameters) {
  SafetensorsWriter writer;
  for (const auto &parameter : parameters) {
    const Tensor &tensor = parameter->tensor;
    writer.setMetadata(fmt::format("{}{}", versionKey, parameter->name),
                       std::to_string(parameter->version.load()));
    writer.add(
        fmt::format("{}{}", paramPrefix, parameter->name), runtime::safetensorsType(tensor.dtype()),
        tensor.shape(),
        [&tensor](SafetensorsSink &sink) { return sink.write(tensor.data(), tensor.bytes()); });
  }
  std::string bytes;
  if (const Status status = writer.write(bytes); !status.ok())
    throw Refusal(Reason::Internal, status.message());
  return bytes;
}

/// Throws Internal if a file can't be read as it was written, so that it replaces no other.
static void checkReadable(const std::string &bytes) {
  SafetensorsFile file;
  if (const Status status = SafetensorsFile::openBytes(bytes, "snapshot", file); !status.ok())
    throw Refusal(Reason::Internal,
                  fmt::format("cannot write a snapshot: {}; the one before is still there",
                              status.message()));
}

void Server::takeSnapshot() {
  if (!store)
    throw Refusal(Reason::FailedPrecondition,
                  "the worker keeps nothing on a disk; start it with --store");
  const std::lock_guard one(snapshots);
  const auto begin = std::chrono::steady_clock::now();
  const auto observe = [&](const std::string &error) {
    if (observeSnapshot)
      observeSnapshot(std::chrono::steady_clock::now() - begin, error);
  };
  try {
    writeSnapshot();
  } catch (const std::exception &error) { // std::bad_alloc, too
    observe(error.what());
    throw;
  }
  observe({});
}

void Server::writeSnapshot() {
  const Parameters all = params.all();
  size_t bytes = 0;
  for (const auto &parameter : all)
    bytes += parameter->tensor.bytes();
  const Budget::Reservation copies = memory.reserve(bytes, "a copy of all parameters");
  store::SnapshotContent content;
  try {
    uint64_t changes = 0;
    {
      const ChangeGate::Pause pause(recorder.gate);
      changes = recorder.gate.count();
      content.snapshot.record = store->journal().startSegment();
      listTransactions();
      content.parameters = fileOf(params.all());
      const std::lock_guard guard(mutex);
      for (const auto &[name, entry] : optimizers) {
        if (entry.optimizer->closed())
          continue; // about to be removed
        content.snapshot.optimizers.push_back(
            {name, entry.optimizer->request().SerializeAsString(), entry.optimizer->package(), {}});
        content.states.push_back(entry.optimizer->saveStates());
      }
      table.list(content.snapshot);
    }
    checkReadable(content.parameters);
    for (const std::string &states : content.states)
      checkReadable(states);
    recorder.syncAll(); // with the snapshot, the records before the listed transactions are gone
    store->save(std::move(content));
    inSnapshot = changes;
  } catch (const StoreError &error) {
    throw Refusal(
        error.kind() == StoreError::Kind::Full ? Reason::ResourceExhausted : Reason::Internal,
        fmt::format("cannot write a snapshot: {}; the one before is still there", error.what()));
  }
}

//===----------------------------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------------------------===//

/// Opens a file of tensors in a store. The result reads them from the disk, and keeps no copy.
static SafetensorsFile openTensors(const store::Store &store, const store::SnapshotFile &file) {
  const std::shared_ptr<const store::File> opened = store.open(file);
  SafetensorsFile result;
  const Status status = SafetensorsFile::openWith(
      [opened, file](uint64_t offset, void *data, size_t bytes) {
        return opened->read(offset, data, bytes) == bytes
                   ? Status()
                   : runtime::ioError(
                         fmt::format("cannot read `{}`: it ends too early", file.name));
      },
      opened->size(), file.name, result);
  if (!status.ok())
    damaged(status.message());
  return result;
}

void Server::restoreParameters(const SafetensorsFile &file) {
  for (const SafetensorsEntry &entry : file.tensors()) {
    const auto dtype = runtime::dtypeOf(entry.type);
    if (!entry.name.starts_with(paramPrefix) || !dtype || *dtype == UPD_I8)
      damaged(fmt::format("`{}` has an unknown tensor `{}`", file.path(), entry.name));
    const std::string own = entry.name.substr(paramPrefix.size());
    uint64_t version = 0;
    if (const auto text = file.metadata().find(fmt::format("{}{}", versionKey, own));
        text != file.metadata().end())
      std::from_chars(text->second.data(), text->second.data() + text->second.size(), version);
    Tensor tensor(*dtype, entry.shape, memory, fmt::format("tensor `{}`", own));
    if (const Status status = file.read(entry, 0, tensor.data(), tensor.bytes()); !status.ok())
      damaged(status.message());
    params.restore(own, std::move(tensor), version);
  }
}

void Server::restore() {
  try {
    const store::Snapshot &snapshot = store->snapshot();
    if (snapshot.number != 0)
      restoreParameters(openTensors(*store, snapshot.parameters));
    for (const store::StoredOptimizer &stored : snapshot.optimizers) {
      worker::v1::CreateOptimizerRequest request;
      if (!request.ParseFromString(stored.request))
        damaged(fmt::format("the store has an optimizer `{}` that this worker doesn't know",
                            stored.name));
      auto made = std::make_shared<ServedOptimizer>(std::move(request), stored.package,
                                                    loadRule(stored.package), params);
      made->loadStates(openTensors(*store, stored.states));
      optimizers.emplace(stored.name, Entry{std::move(made), {}});
    }
    table.restore(snapshot);
    store->replay([&](uint64_t number, std::string_view content) { replay(number, content); });
  } catch (const Refusal &refusal) {
    damaged(fmt::format("the store can't be restored: {}", refusal.what()));
  }
}

namespace {
/// The gradients of a recorded step. Views of the record's content.
struct ReadGradients {
  ReadGradients(const store::v1::Step &step, ReadRecord &record, const ServedOptimizer &optimizer);
  std::map<size_t, SummedGradient> byParam;
  std::vector<Shape> shapes; ///< of the views
};
} // namespace

void Server::replay(uint64_t number, std::string_view content) {
  ReadRecord read = readRecord(number, content);
  store::v1::Record &record = read.record;
  switch (record.operation_case()) {
  case store::v1::Record::kPut: {
    const worker::v1::TensorInfo &info = record.put().tensor();
    const auto dtype = messages::typeOf(info.dtype());
    if (!dtype)
      damaged(fmt::format("record {} of the journal has a tensor of an unknown type", number));
    Tensor tensor(*dtype, {info.shape().begin(), info.shape().end()}, memory,
                  fmt::format("tensor `{}`", info.name()));
    if (const size_t bytes = tensor.bytes())
      std::memcpy(tensor.data(), read.take(bytes), bytes);
    params.put(info.name(), std::move(tensor), recorder);
    break;
  }
  case store::v1::Record::kCreate: {
    store::v1::CreateOptimizer &create = *record.mutable_create();
    RulePointer rule = loadRule(create.package());
    const std::string name = create.request().optimizer();
    auto made = std::make_shared<ServedOptimizer>(std::move(*create.mutable_request()),
                                                  std::move(*create.mutable_package()),
                                                  std::move(rule), params);
    optimizers.insert_or_assign(name, Entry{std::move(made), {}});
    break;
  }
  case store::v1::Record::kDelete:
    optimizers.erase(record.delete_().optimizer());
    break;
  case store::v1::Record::kSet:
    entry(record.set().optimizer()).optimizer->setHypers(record.set(), recorder, {});
    break;
  case store::v1::Record::kStep: {
    const store::v1::Step &recorded = record.step();
    if (!recorded.gradients().empty()) { // otherwise the optimizer may be deleted
      ServedOptimizer &optimizer = *entry(recorded.optimizer()).optimizer;
      const ReadGradients gradients(recorded, read, optimizer);
      optimizer.prepare(gradients.byParam, {}, memory)->apply();
    }
    table.restore(keyOf(recorded.request()), recorded.gradients().size());
    break;
  }
  case store::v1::Record::kLoad: {
    const size_t bytes = record.load().bytes();
    // Older workers also took files that don't name the formats of codes.
    entry(record.load().optimizer())
        .optimizer->loadStates(std::string(read.take(bytes), bytes), /*needsFormats=*/false);
    break;
  }
  case store::v1::Record::kPrepare:
    replayPrepare(record.prepare(), content);
    break;
  case store::v1::Record::kDecide:
    replayDecide(record.decide());
    break;
  case store::v1::Record::kAcknowledge:
    decisions.erase(keyOf(record.acknowledge()));
    break;
  case store::v1::Record::kRegister:
    table.restore(record.register_());
    break;
  case store::v1::Record::kForget:
    table.forget(record.forget());
    break;
  case store::v1::Record::OPERATION_NOT_SET:
    break;
  }
}

ReadGradients::ReadGradients(const store::v1::Step &step, ReadRecord &record,
                             const ServedOptimizer &optimizer) {
  const Parameters &parameters = optimizer.parameters();
  shapes.reserve(static_cast<size_t>(step.gradients().size()));
  for (const store::v1::Step::Gradient &gradient : step.gradients()) {
    if (gradient.param() >= parameters.size())
      damaged(fmt::format("the journal has a step of parameter {} of the optimizer `{}`, which has "
                          "{}",
                          gradient.param(), step.optimizer(), parameters.size()));
    SummedGradient &added = byParam[gradient.param()];
    Shape &shape = shapes.emplace_back(parameters[gradient.param()]->tensor.shape());
    added.isWhole = gradient.is_whole();
    if (!added.isWhole) {
      if (shape.empty() || gradient.rows() > record.tensors.size() / sizeof(int64_t))
        damaged("the journal has a gradient of too many rows");
      const char *rows = record.take(gradient.rows() * sizeof(int64_t));
      added.rows.resize(gradient.rows());
      if (!added.rows.empty())
        std::memcpy(added.rows.data(), rows, added.rows.size() * sizeof(int64_t));
      shape[0] = static_cast<int64_t>(added.rows.size());
    }
    added.view.dtype = optimizer.gradType();
    added.view.device = UPD_CPU;
    added.view.shape = shape.data();
    added.view.rank = static_cast<int32_t>(shape.size());
    // The library only reads gradients.
    added.view.data = const_cast<char *>(
        record.take(bytesOf(added.view.dtype, shape, "a gradient of the journal")));
  }
}

void Server::replayPrepare(const store::v1::Prepare &prepare, std::string_view content) {
  const store::v1::Step &step = prepare.step();
  Transaction transaction{step.optimizer(),
                          prepare.context(),
                          keyOf(step.request()),
                          prepare.attempt(),
                          {prepare.workers().begin(), prepare.workers().end()},
                          prepare.self(),
                          {}};
  std::shared_ptr<Prepared> &place = prepared[transaction.request];
  if (!place) {
    // A copy, because the step may be decided long after it was read.
    struct Owner {
      std::string content;
      std::optional<ReadGradients> gradients;
    };
    auto owner = std::make_shared<Owner>();
    owner->content = content;
    ReadRecord read = readRecord(0, owner->content);
    auto made = std::make_shared<Prepared>();
    if (step.gradients().empty()) { // the optimizer may be deleted
      static const std::map<size_t, SummedGradient> none;
      made->gradients = &none;
    } else {
      made->optimizer = entry(step.optimizer()).optimizer;
      owner->gradients.emplace(read.record.prepare().step(), read, *made->optimizer);
      made->gradients = &owner->gradients->byParam;
      made->owner = std::move(owner);
      made->step = made->optimizer->prepare(*made->gradients, {}, memory);
    }
    made->isRecorded = true;
    made->isBusy = false;
    place = std::move(made);
  }
  place->transaction = std::move(transaction);
}

void Server::replayDecide(const store::v1::Decide &decide) {
  Decision decision{keyOf(decide.request()),
                    decide.attempt(),
                    decide.is_committed(),
                    decide.stepped(),
                    {decide.unacknowledged().begin(), decide.unacknowledged().end()}};
  const auto found = prepared.find(decision.request);
  if (decision.isCommitted) {
    if (found != prepared.end() && found->second->step)
      found->second->step->apply();
    table.restore(decision.request, decision.stepped);
    if (!decision.unacknowledged.empty())
      decisions.insert_or_assign(decision.request, decision);
  }
  if (found != prepared.end())
    prepared.erase(found);
}
