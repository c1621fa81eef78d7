//===- Batch.cpp - Parameters that step together ----------------------------------------------===//

#include "Batch.h"

#include "runtime/base/DType.h"
#include "runtime/base/OptimizerFileNames.h"
#include "runtime/optimizer/QuantBlocks.h"
#include "runtime/optimizer/TensorLayout.h"
#include "updraft-c/compiler.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace updraft::run;
using namespace updraft::runtime;

static Status statusOf(upd_status code) {
  return code == UPD_OK ? Status() : Status(code, upd_last_error());
}

static TensorClass classOf(const Tensor &param) {
  return param.shape.size() < 2 ? TensorClass::Vector : TensorClass::Matrix;
}

Batch::~Batch() {
  upd_optimizer_release(optimizer);
  upd_rule_release(rule);
}

bool Batch::add(const std::string &name, Parameter &parameter, uint64_t number) {
  Storage added = storageOf(parameter);
  if (findDifference(added, storage))
    return false;
  storage.merge(added);
  names.push_back(&name);
  parameters.push_back(&parameter);
  numbers.push_back(number);
  return true;
}

bool Batch::hasGradients() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter *parameter) { return parameter->grad.has_value(); });
}

bool Batch::writesStates() const {
  return hasGradients() ||
         std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter *parameter) { return !parameter->states.empty(); });
}

std::string Batch::differenceFrom(const Batch &other) const {
  for (size_t i = 0; i < parameters.size(); ++i)
    for (size_t j = 0; j < other.parameters.size(); ++j) {
      const Storage mine = storageOf(*parameters[i]), theirs = storageOf(*other.parameters[j]);
      if (const std::string *tensor = findDifference(mine, theirs))
        return fmt::format("`{}` is {} for `{}` and {} for `{}`", *tensor, mine.at(*tensor),
                           *names[i], theirs.at(*tensor), *other.names[j]);
    }
  return {};
}

/// Storage types come from the request first, then from the file, then from the rule. A state's
/// type in the file is used only if the rule would store the state in another type, because the
/// rule's type may also say how values are rounded.
Status Batch::compile(const RunOptions &options) {
  Storage request = options.storage;
  for (const char *tensor : {"param", "grad"})
    if (auto found = storage.find(tensor); found != storage.end())
      request.insert(*found);
  if (Status status = compile(options, request); !status.ok())
    return status;
  const size_t asked = request.size();
  for (const auto &[name, type] : storage)
    if (!request.contains(name) && storageOfState(name) != type)
      request.emplace(name, type);
  return request.size() == asked ? Status() : compile(options, request);
}

Status Batch::compile(const RunOptions &options, const Storage &request) {
  std::vector<upd_setting> settings;
  for (const auto &[name, value] : options.settings)
    settings.push_back({name.c_str(), value.c_str()});
  std::vector<upd_storage> types;
  for (const auto &[name, type] : request)
    types.push_back({name.c_str(), type.data()});
  upd_compile_options compileOptions{};
  compileOptions.struct_size = sizeof(compileOptions);
  compileOptions.rule = options.rule.empty() ? nullptr : options.rule.c_str();
  compileOptions.settings = settings.data();
  compileOptions.setting_count = settings.size();
  compileOptions.numerics = options.numerics.empty() ? nullptr : options.numerics.c_str();
  compileOptions.storage = types.data();
  compileOptions.storage_count = types.size();
  std::vector<const char *> probes;
  for (const std::string &probe : options.probes)
    probes.push_back(probe.c_str());
  compileOptions.probes = probes.data();
  compileOptions.probe_count = probes.size();
  upd_rule_release(rule);
  rule = nullptr;
  if (Status status = statusOf(upd_compile(options.source.data(), options.source.size(),
                                           options.ruleFile.c_str(), &compileOptions, &rule));
      !status.ok())
    return status;
  size_t size = 0;
  const upd_descriptor *descriptor = upd_rule_descriptor(rule, &size);
  return RuleInterface::read({reinterpret_cast<const char *>(descriptor), size}, description);
}

/// Returns the type in the compiled rule; empty if the rule doesn't have the state.
std::optional<std::string_view> Batch::storageOfState(const std::string &name) const {
  auto find = [&](const std::string &wanted) {
    return std::find_if(description.states.begin(), description.states.end(),
                        [&](const StateInterface &state) { return state.name == wanted; });
  };
  const auto state = find(name);
  if (state == description.states.end())
    return std::nullopt;
  const auto correction = find(name + "_correction");
  return correction != description.states.end() && correction->dtype == UPD_I8
             ? bf16Corrected
             : nameOf(state->dtype);
}

Status Batch::prepare(std::optional<uint64_t> seed) {
  if (Status status = create(); !status.ok())
    return status;
  if (seed)
    if (Status status = statusOf(upd_optimizer_set_seed(optimizer, *seed)); !status.ok())
      return status;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (Status status = restore(i); !status.ok())
      return status;
  return {};
}

Status Batch::create() {
  std::vector<upd_tensor> params;
  std::vector<const char *> cNames;
  for (size_t i = 0; i < parameters.size(); ++i) {
    params.push_back(parameters[i]->param.view());
    cNames.push_back(names[i]->c_str());
    upd_tensor absent{};
    absent.rank = UPD_ABSENT;
    grads.push_back(parameters[i]->grad ? parameters[i]->grad->view() : absent);
  }
  upd_group group{params.data(), cNames.data(), params.size(), nullptr, 0};
  if (Status status = statusOf(upd_optimizer_create(rule, &group, 1, nullptr, &optimizer));
      !status.ok())
    return status;
  return statusOf(upd_optimizer_set_param_numbers(optimizer, numbers.data(), numbers.size()));
}

/// Copies the states of a parameter from the file to the optimizer.
Status Batch::restore(size_t i) {
  for (auto &[name, tensor] : parameters[i]->states) {
    if (isBlocked(tensor.dtype))
      if (Status status = appendScales(i, name, tensor); !status.ok())
        return status;
    upd_tensor view = tensor.view();
    if (Status status = statusOf(upd_optimizer_bind_state(optimizer, i, name.c_str(), &view));
        !status.ok())
      return status;
  }
  if (Status status = checkStates(i); !status.ok())
    return status;
  return statusOf(upd_optimizer_set_step(optimizer, i, parameters[i]->step));
}

/// The optimizer expects the scales of a state after its codes.
Status Batch::appendScales(size_t i, const std::string &state, Tensor &codes) {
  const Tensor &scales = parameters[i]->scales.at(state);
  const std::vector<int64_t> &shape = codes.shape;
  if (shape != parameters[i]->param.shape)
    return {}; // the optimizer reports the error
  const TensorLayout layout{shape.data(), nullptr, static_cast<int64_t>(codes.bytes.size()),
                            static_cast<int32_t>(shape.size())};
  const auto plan = std::find_if(
      description.plans.begin(), description.plans.end(), [&](const PlanInterface &candidate) {
        const TensorShape sizes = shapeOf(layout);
        return candidate.isFor(classOf(parameters[i]->param), sizes.rows, sizes.columns);
      });
  if (plan == description.plans.end())
    return Status(UPD_INTERNAL_ERROR, fmt::format("no plan steps parameter `{}`", *names[i]));
  const QuantBlocks blocks(shapeOf(layout), plan->tensors);
  std::vector<int64_t> expected;
  if (plan->tensors == TensorClass::Matrix)
    expected.assign(shape.begin(), shape.end() - 1);
  expected.push_back(blocks.perSequence());
  if (scales.shape != expected)
    return invalidArgument(fmt::format("`state/{}/{}{}` has the shape [{}], but the scales of the "
                                       "state's blocks have [{}]",
                                       *names[i], state, scaleSuffix, fmt::join(scales.shape, ", "),
                                       fmt::join(expected, ", ")));
  codes.bytes.resize(blocks.bytes());
  if (!scales.bytes.empty())
    std::memcpy(blocks.scalesOf(codes.bytes.data()), scales.bytes.data(), scales.bytes.size());
  return {};
}

/// A parameter has either all of its states or none. A state of the group may be missing, but must
/// be equal for all parameters.
Status Batch::checkStates(size_t i) {
  const std::string *present = nullptr, *missing = nullptr;
  const std::string *stepped = nullptr; // a state that only an earlier step can have made
  const TensorClass tensors = classOf(parameters[i]->param);
  for (const StateInterface &state : description.states) {
    const auto found = parameters[i]->states.find(state.name);
    const bool has = found != parameters[i]->states.end();
    if (state.over == Extent::Group) {
      if (!has)
        continue;
      auto [first, added] = groupStates.try_emplace(state.name, &found->second);
      if (!added && first->second->bytes != found->second.bytes)
        return invalidArgument(
            fmt::format("state `{}` of `{}` differs from that of another parameter; "
                        "the whole group shares it",
                        state.name, *names[i]));
    } else if (state.isOf(tensors)) {
      (has ? present : missing) = &state.name;
      if (has && state.name != "param_correction")
        stepped = &state.name;
    }
  }
  if (stepped && !missing && !parameters[i]->hasStep)
    return invalidArgument(
        fmt::format("parameter `{}` has state `{}`, but no step count; give `state/{}/step`",
                    *names[i], *stepped, *names[i]));
  if (!present || !missing)
    return {};
  return invalidArgument(
      fmt::format("parameter `{}` has state `{}`, but not `{}`; give all of its states, or none to "
                  "start from the initial values",
                  *names[i], *present, *missing));
}

Status Batch::step() { return statusOf(upd_optimizer_step(optimizer, grads.data(), grads.size())); }

Status Batch::collect() {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (Status status = statusOf(upd_optimizer_get_step(optimizer, i, &parameters[i]->step));
        !status.ok())
      return status;
    for (const StateInterface &state : description.states) {
      upd_tensor view;
      if (upd_optimizer_state(optimizer, i, state.name.c_str(), &view) != UPD_OK)
        continue; // without a gradient there are no states
      if (isBlocked(state.dtype)) {
        upd_tensor scales;
        const std::string name = fmt::format("{}{}", state.name, scaleSuffix);
        if (Status status = statusOf(upd_optimizer_state(optimizer, i, name.c_str(), &scales));
            !status.ok())
          return status;
        parameters[i]->scales[state.name].take(scales);
      }
      parameters[i]->states[state.name].take(view);
    }
  }
  return {};
}
