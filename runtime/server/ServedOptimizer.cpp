//===- ServedOptimizer.cpp - An optimizer that clients step -----------------------------------===//

#include "runtime/server/ServedOptimizer.h"

#include "runtime/base/DType.h"
#include "runtime/capi/Handles.h"
#include "runtime/dist/Waiting.h"
#include "runtime/server/Refusal.h"
#include "updraft-c/package.h"
#include "updraft-c/probes.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <mutex>
#include <string_view>
#include <utility>

using namespace updraft;
using namespace updraft::server;
using updraft::runtime::nameOf;

/// Throws the library's error.
static void check(upd_status status) {
  if (status == UPD_OK)
    return;
  const Reason reason = status == UPD_NOT_FOUND        ? Reason::NotFound
                        : status == UPD_UNSUPPORTED    ? Reason::FailedPrecondition
                        : status == UPD_OUT_OF_MEMORY  ? Reason::ResourceExhausted
                        : status == UPD_INTERNAL_ERROR ? Reason::Internal
                                                       : Reason::InvalidArgument;
  throw Refusal(reason, upd_last_error());
}

/// In the order of names, since a map of protobuf has none. Valid as long as the map.
template <typename Map> static std::vector<upd_hyper> viewsOf(const Map &hypers) {
  std::vector<upd_hyper> result;
  for (const auto &[name, value] : hypers)
    result.push_back({name.c_str(), value});
  std::sort(result.begin(), result.end(), [](const upd_hyper &a, const upd_hyper &b) {
    return std::string_view(a.name) < b.name;
  });
  return result;
}

RulePointer updraft::server::loadRule(const std::string &bytes) {
  upd_package *opened = nullptr;
  ::check(upd_package_open_buffer(bytes.data(), bytes.size(), nullptr, &opened));
  const std::unique_ptr<upd_package, void (*)(upd_package *)> package(opened, upd_package_release);
  upd_rule *rule = nullptr;
  ::check(upd_package_load(opened, nullptr, nullptr, &rule));
  return {rule, upd_rule_release};
}

ServedOptimizer::ServedOptimizer(worker::v1::CreateOptimizerRequest request, std::string package,
                                 RulePointer loaded, const ParameterStore &store)
    : created(std::move(request)), code(std::move(package)), rule(std::move(loaded)),
      optimizer(nullptr, upd_optimizer_release) {
  const auto &groups = created.groups();
  for (const auto &group : groups)
    for (const auto &parameter : store.find({group.parameters().begin(), group.parameters().end()}))
      params.push_back(parameter);
  if (upd_rule_depends_on(rule.get()) == UPD_EXTENT_GROUP &&
      std::any_of(groups.begin(), groups.end(), [](const auto &group) { return group.is_part(); }))
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("the rule `{}` depends on a whole group, and one has parameters on "
                              "several workers; give those of each worker a group of their own",
                              upd_rule_name(rule.get())));
  for (const auto &parameter : params)
    if (!positions.emplace(parameter->name, positions.size()).second)
      throw Refusal(Reason::InvalidArgument,
                    fmt::format("parameter `{}` is listed twice, and each step would be taken "
                                "twice; list it once",
                                parameter->name));
  locks = locksOf(params);

  std::vector<upd_tensor> views;
  std::vector<const char *> viewNames;
  for (const auto &parameter : params) {
    views.push_back(parameter->tensor.view());
    viewNames.push_back(parameter->name.c_str());
  }
  std::vector<std::vector<upd_hyper>> hypers;
  std::vector<upd_group> list;
  size_t first = 0;
  for (const auto &group : groups)
    hypers.push_back(viewsOf(group.hyperparameters()));
  for (const auto &group : groups) {
    const auto count = static_cast<size_t>(group.parameters().size());
    const std::vector<upd_hyper> &own = hypers[list.size()];
    list.push_back({views.data() + first, viewNames.data() + first, count, own.data(), own.size()});
    first += count;
  }
  upd_optimizer *made = nullptr;
  ::check(upd_optimizer_create(rule.get(), list.data(), list.size(), nullptr, &made));
  optimizer.reset(made);
  ::check(upd_optimizer_set_seed(made, created.seed()));
  std::vector<uint64_t> numbers;
  for (const auto &group : groups)
    numbers.insert(numbers.end(), group.numbers().begin(), group.numbers().end());
  if (!numbers.empty())
    ::check(upd_optimizer_set_param_numbers(made, numbers.data(), numbers.size()));
}

size_t ServedOptimizer::positionOf(const std::string &parameter) const {
  const auto found = positions.find(parameter);
  if (found == positions.end())
    throw Refusal(Reason::NotFound, fmt::format("the optimizer has no parameter `{}`", parameter));
  return found->second;
}

upd_dtype ServedOptimizer::gradType() const { return upd_rule_grad_dtype(rule.get()); }

void ServedOptimizer::check(const Gradient &gradient) const {
  const Parameter &parameter = *params[gradient.param];
  const Tensor &values = gradient.values;
  if (values.dtype() != gradType())
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("the gradient of `{}` is {}; the rule takes {}", parameter.name,
                              nameOf(values.dtype()), nameOf(gradType())));
  Shape expected = parameter.tensor.shape();
  if (gradient.rows) {
    if (expected.empty())
      throw Refusal(Reason::InvalidArgument,
                    fmt::format("parameter `{}` is a scalar, which has no rows; push a whole "
                                "gradient",
                                parameter.name));
    for (int64_t row : *gradient.rows)
      if (row < 0 || row >= expected[0])
        throw Refusal(Reason::InvalidArgument,
                      fmt::format("the gradient of `{}` has row {}; the parameter has {} rows, "
                                  "from 0 on",
                                  parameter.name, row, expected[0]));
    expected[0] = static_cast<int64_t>(gradient.rows->size());
  }
  if (values.shape() != expected)
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("the gradient of `{}` is {}; it must be {}", parameter.name,
                              textOf(values.dtype(), values.shape()),
                              textOf(gradType(), expected)));
}

void ServedOptimizer::addProbes(std::vector<ProbeValue> &to) const {
  const size_t probes = upd_rule_probe_count(rule.get());
  if (probes == 0)
    return;
  const std::lock_guard guard(readingProbes);
  std::vector<upd_probe_row> rows(64);
  std::vector<double> values(rows.size() * probes);
  for (size_t count = rows.size(); count == rows.size();) {
    ::check(upd_optimizer_read_probes(optimizer.get(), &probeCursor, rows.data(), values.data(),
                                      rows.size(), &count, nullptr));
    for (size_t i = 0; i < count; ++i)
      newestProbes[rows[i].param].assign(values.data() + i * probes,
                                         values.data() + (i + 1) * probes);
  }
  for (const auto &[param, newest] : newestProbes) {
    double below = 0;
    for (size_t i = 0; i < probes; ++i) {
      ProbeValue &added = to.emplace_back(ProbeValue{
          created.optimizer(), params[param]->name, upd_rule_probe_name(rule.get(), i), newest[i]});
      const double end = upd_rule_probe_end(rule.get(), i);
      if (std::isnan(end))
        continue;
      added.below = end;
      added.value = below += newest[i];
      if (std::isinf(end))
        below = 0;
    }
  }
}

ServedStep::ServedStep(ServedOptimizer &optimizer,
                       const std::map<size_t, SummedGradient> &gradients, Budget &budget,
                       const worker::v1::Staleness &staleness)
    : optimizer(optimizer), given(gradients), budget(budget), staleness(staleness) {
  for (const auto &[param, gradient] : gradients)
    places.push_back(param);
}

void ServedStep::prepare(size_t) {
  limited.emplace(given, optimizer.params, staleness, budget);
  std::vector<upd_tensor> whole(optimizer.params.size());
  std::vector<upd_row_grad> rows;
  for (upd_tensor &absent : whole)
    absent.rank = UPD_ABSENT;
  for (const auto &[param, gradient] : limited->byParam())
    if (gradient.isWhole)
      whole[param] = gradient.view;
    else
      rows.push_back({param, gradient.rows.data(), gradient.rows.size(), gradient.view, 1});
  const auto guard = dist::lockPatiently(optimizer.preparing);
  ::check(upd_optimizer_prepare_rows(optimizer.optimizer.get(), whole.data(), whole.size(),
                                     rows.data(), rows.size()));
}

void ServedStep::apply(size_t) {
  ::check(upd_optimizer_apply(optimizer.optimizer.get())); // doesn't fail once it is prepared
  for (size_t place : places)
    ++optimizer.params[place]->version;
}

std::unique_ptr<ServedStep>
ServedOptimizer::prepare(const std::map<size_t, SummedGradient> &gradients, dist::Patience patience,
                         Budget &budget, const worker::v1::Staleness &staleness) {
  std::unique_ptr<ServedStep> step(new ServedStep(*this, gradients, budget, staleness));
  try {
    if (step->begin(lock, locks, step->places, patience))
      return nullptr;
  } catch (const dist::LockTimeout &) {
    throw lockTimeout();
  }
  return step;
}

bool ServedOptimizer::isQuick(size_t gradientBytes) const {
  constexpr std::chrono::nanoseconds quick = std::chrono::microseconds(500);
  return gradientBytes <= size_t(4) << 20 && longest < quick.count();
}

void ServedOptimizer::took(std::chrono::nanoseconds time) {
  const int64_t before = longest;
  const bool isFirst = before == std::numeric_limits<int64_t>::max();
  longest = isFirst ? time.count() : std::max<int64_t>(time.count(), before - before / 16);
}

void ServedOptimizer::requireOpen() const {
  if (isClosed)
    throw Refusal(Reason::NotFound,
                  fmt::format("the optimizer `{}` was deleted", created.optimizer()));
}

namespace {
/// Holds a lock, which was free in time.
class Held {
public:
  Held(dist::Lock &lock, dist::Patience patience) : lock(lock) {
    if (!lock.lock(patience))
      throw lockTimeout();
  }
  ~Held() { lock.unlock(); }
  Held(const Held &) = delete;
  Held &operator=(const Held &) = delete;

private:
  dist::Lock &lock;
};
} // namespace

uint64_t ServedOptimizer::setHypers(const worker::v1::SetHyperparametersRequest &request,
                                    Recorder &recorder, dist::Patience patience) {
  const std::vector<upd_hyper> values = viewsOf(request.hyperparameters());
  const Held held(lock, patience);
  requireOpen();
  const ChangeGate::Change change(recorder.gate);
  std::vector<double> before(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    ::check(upd_optimizer_get_hyper(optimizer.get(), request.group(), values[i].name, &before[i]));
  ::check(upd_optimizer_set_hypers(optimizer.get(), request.group(), values.data(), values.size()));
  try {
    return recorder.set(request);
  } catch (...) {
    std::vector<upd_hyper> old = values;
    for (size_t i = 0; i < old.size(); ++i)
      old[i].value = before[i];
    upd_optimizer_set_hypers(optimizer.get(), request.group(), old.data(), old.size());
    throw;
  }
}

std::vector<std::map<std::string, double>> ServedOptimizer::hypers(dist::Patience patience) {
  std::vector<std::map<std::string, double>> result(static_cast<size_t>(created.groups().size()));
  const Held held(lock, patience);
  for (size_t group = 0; group < result.size(); ++group)
    for (size_t i = 0; i < upd_rule_hyper_count(rule.get()); ++i) {
      const char *name = upd_rule_hyper_name(rule.get(), i);
      ::check(upd_optimizer_get_hyper(optimizer.get(), group, name, &result[group][name]));
    }
  return result;
}

StatesFile ServedOptimizer::states(dist::Patience patience, Budget &budget) {
  // One file at a time, because its memory is counted once it is made.
  static std::mutex making;
  const Held held(lock, patience);
  const std::lock_guard guard(making);
  StatesFile result{saveStates(), {}};
  result.reserved = budget.reserve(result.bytes.size(), "a file of states");
  return result;
}

uint64_t ServedOptimizer::setStates(const std::string &bytes, Recorder &recorder,
                                    dist::Patience patience) {
  const Held held(lock, patience);
  requireOpen();
  const ChangeGate::Change change(recorder.gate);
  const std::string before = saveStates();
  loadStates(bytes);
  try {
    return recorder.loadStates(created.optimizer(), bytes);
  } catch (...) {
    loadStates(before);
    throw;
  }
}

uint64_t ServedOptimizer::close(Recorder &recorder, dist::Patience patience) {
  const Held held(lock, patience);
  requireOpen();
  const ChangeGate::Change change(recorder.gate);
  const uint64_t record = recorder.remove(created.optimizer());
  isClosed = true;
  return record;
}

std::string ServedOptimizer::saveStates() const {
  const std::lock_guard guard(preparing);
  std::string bytes;
  if (const runtime::Status status = optimizer->optimizer->saveBytes(bytes); !status.ok())
    throw Refusal(Reason::Internal, status.message());
  return bytes;
}

void ServedOptimizer::loadStates(const std::string &bytes, bool needsFormats) {
  runtime::SafetensorsFile file;
  if (const runtime::Status status = runtime::SafetensorsFile::openBytes(bytes, "states", file);
      !status.ok())
    throw Refusal(Reason::InvalidArgument, status.message());
  loadStates(std::move(file), needsFormats);
}

void ServedOptimizer::loadStates(runtime::SafetensorsFile file, bool needsFormats) {
  if (const runtime::Status status = optimizer->optimizer->load(std::move(file), needsFormats);
      !status.ok())
    throw Refusal(Reason::InvalidArgument, status.message());
}
