//===- Recorder.cpp - Records changes before they are made ------------------------------------===//

#include "runtime/server/Recorder.h"

#include "runtime/base/DType.h"
#include "runtime/messages/TensorMessages.h"
#include "runtime/server/Refusal.h"
#include "runtime/store/StoreError.h"

#include <cstring>
#include <fmt/format.h>

using namespace updraft;
using namespace updraft::server;
using updraft::store::StoreError;
using updraft::store::v1::Record;

/// Tensors in a record start at multiples of this, so that they are aligned when it is read.
static constexpr size_t alignment = 8;

static size_t paddingOf(size_t bytes) { return (alignment - bytes % alignment) % alignment; }

uint64_t Recorder::append(const Record &record, const std::vector<std::string_view> &tensors) {
  static constexpr char zeros[alignment] = {};
  const std::string message = record.SerializeAsString();
  const uint64_t length = message.size();
  std::vector<std::string_view> parts;
  const auto add = [&](std::string_view part) {
    parts.push_back(part);
    parts.emplace_back(zeros, paddingOf(part.size()));
  };
  add({reinterpret_cast<const char *>(&length), sizeof(length)});
  add(message);
  for (std::string_view tensor : tensors)
    add(tensor);
  try {
    return journal->append(parts);
  } catch (const StoreError &error) {
    if (error.kind() == StoreError::Kind::Full)
      throw Refusal(Reason::ResourceExhausted,
                    fmt::format("the worker's disk is full, and the change must be recorded before "
                                "it is made: {}",
                                error.what()));
    throw Refusal(Reason::Unavailable, error.what());
  }
}

uint64_t Recorder::addClient(const std::string &name) {
  if (!journal)
    return 0;
  Record record;
  record.set_register_(name);
  return append(record, {});
}

uint64_t Recorder::forgetClient(const std::string &name) {
  if (!journal)
    return 0;
  Record record;
  record.set_forget(name);
  return append(record, {});
}

uint64_t Recorder::put(const std::string &name, const Tensor &tensor) {
  if (!journal)
    return 0;
  Record record;
  *record.mutable_put()->mutable_tensor() = messages::infoOf(name, tensor.dtype(), tensor.shape());
  return append(record, {{tensor.data(), tensor.bytes()}});
}

uint64_t Recorder::create(const worker::v1::CreateOptimizerRequest &request,
                          const std::string &package) {
  if (!journal)
    return 0;
  Record record;
  *record.mutable_create()->mutable_request() = request;
  record.mutable_create()->set_package(package);
  return append(record, {});
}

uint64_t Recorder::remove(const std::string &optimizer) {
  if (!journal)
    return 0;
  Record record;
  record.mutable_delete_()->set_optimizer(optimizer);
  return append(record, {});
}

uint64_t Recorder::set(const worker::v1::SetHyperparametersRequest &request) {
  if (!journal)
    return 0;
  Record record;
  *record.mutable_set() = request;
  return append(record, {});
}

/// Describes a step. Returns its tensors.
static std::vector<std::string_view> describe(store::v1::Step &step, const std::string &optimizer,
                                              const RequestKey &request,
                                              const std::map<size_t, SummedGradient> &gradients) {
  step.set_optimizer(optimizer);
  *step.mutable_request() = idOf(request);
  std::vector<std::string_view> tensors;
  for (const auto &[param, gradient] : gradients) {
    store::v1::Step::Gradient &added = *step.add_gradients();
    added.set_param(param);
    added.set_is_whole(gradient.isWhole);
    if (!gradient.isWhole) {
      added.set_rows(gradient.rows.size());
      tensors.emplace_back(reinterpret_cast<const char *>(gradient.rows.data()),
                           gradient.rows.size() * sizeof(int64_t));
    }
    size_t bytes = runtime::sizeOf(gradient.view.dtype);
    for (int32_t i = 0; i < gradient.view.rank; ++i)
      bytes *= static_cast<size_t>(gradient.view.shape[i]);
    tensors.emplace_back(static_cast<const char *>(gradient.view.data), bytes);
  }
  return tensors;
}

uint64_t Recorder::loadStates(const std::string &optimizer, std::string_view bytes) {
  if (!journal)
    return 0;
  Record record;
  record.mutable_load()->set_optimizer(optimizer);
  record.mutable_load()->set_bytes(bytes.size());
  return append(record, {bytes});
}

uint64_t Recorder::step(const std::string &optimizer, const RequestKey &request,
                        const std::map<size_t, SummedGradient> &gradients) {
  if (!journal)
    return 0;
  Record record;
  const auto tensors = describe(*record.mutable_step(), optimizer, request, gradients);
  return append(record, tensors);
}

uint64_t Recorder::prepare(const Transaction &transaction,
                           const std::map<size_t, SummedGradient> &gradients) {
  if (!journal)
    return 0;
  Record record;
  store::v1::Prepare &prepare = *record.mutable_prepare();
  const auto tensors =
      describe(*prepare.mutable_step(), transaction.optimizer, transaction.request, gradients);
  prepare.set_context(transaction.context);
  prepare.set_attempt(transaction.attempt);
  prepare.mutable_workers()->Assign(transaction.workers.begin(), transaction.workers.end());
  prepare.set_self(static_cast<uint32_t>(transaction.self));
  return append(record, tensors);
}

uint64_t Recorder::decide(const Decision &decision) {
  if (!journal)
    return 0;
  Record record;
  store::v1::Decide &decide = *record.mutable_decide();
  *decide.mutable_request() = idOf(decision.request);
  decide.set_attempt(decision.attempt);
  decide.set_is_committed(decision.isCommitted);
  decide.set_stepped(decision.stepped);
  decide.mutable_unacknowledged()->Assign(decision.unacknowledged.begin(),
                                          decision.unacknowledged.end());
  return append(record, {});
}

uint64_t Recorder::acknowledge(const RequestKey &request) {
  if (!journal)
    return 0;
  Record record;
  *record.mutable_acknowledge() = idOf(request);
  return append(record, {});
}

void Recorder::sync(uint64_t number) {
  if (!journal)
    return;
  try {
    journal->sync(number);
  } catch (const StoreError &error) {
    throw Refusal(Reason::OutcomeUnknown,
                  fmt::format("the outcome is unknown, because the change could not be written to "
                              "the disk: {}",
                              error.what()));
  }
}

void Recorder::syncAll() {
  if (journal)
    sync(journal->last());
}

ReadRecord updraft::server::readRecord(uint64_t number, std::string_view content) {
  uint64_t length = 0;
  ReadRecord result;
  bool isValid = content.size() >= sizeof(length);
  if (isValid) {
    std::memcpy(&length, content.data(), sizeof(length));
    content.remove_prefix(sizeof(length));
    isValid = length <= content.size() && length + paddingOf(length) <= content.size() &&
              length <= size_t(1) << 30 &&
              result.record.ParseFromArray(content.data(), static_cast<int>(length)) &&
              result.record.operation_case() != Record::OPERATION_NOT_SET;
  }
  if (!isValid)
    throw StoreError(
        StoreError::Kind::Damaged,
        fmt::format("record {} of the journal is not one that this worker knows", number));
  result.tensors = content.substr(length + paddingOf(length));
  return result;
}

const char *ReadRecord::take(size_t bytes) {
  if (bytes > tensors.size() - taken || paddingOf(bytes) > tensors.size() - taken - bytes)
    throw StoreError(StoreError::Kind::Damaged,
                     "a record of the journal has too few bytes for its tensors");
  const char *result = tensors.data() + taken;
  taken += bytes + paddingOf(bytes);
  return result;
}
