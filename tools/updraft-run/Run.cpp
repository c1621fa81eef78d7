//===- Run.cpp - Applying a rule to the parameters of a file ----------------------------------===//

#include "Run.h"

#include "runtime/base/DType.h"
#include "runtime/base/RuleInterface.h"
#include "updraft-c/optimizer.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <list>
#include <string_view>

using namespace updraft::run;
using namespace updraft::runtime;

namespace {
Status statusOf(upd_status code) {
  return code == UPD_OK ? Status() : Status(code, upd_last_error());
}

/// The storage of tensors by the names that the compiler takes. States that the file does not have
/// are left to the rule.
using Storage = std::map<std::string, upd_dtype>;

/// A correction is a state that no request names: it is there because of what it corrects.
Storage storageOf(const Parameter &parameter) {
  Storage storage{{"param", parameter.param.dtype}};
  if (parameter.grad)
    storage.emplace("grad", parameter.grad->dtype);
  for (const auto &[name, tensor] : parameter.states)
    if (tensor.dtype != UPD_I8)
      storage.emplace(name, tensor.dtype);
  for (const auto &[name, tensor] : parameter.states)
    if (tensor.dtype == UPD_I8)
      storage[*parameter.correctedBy(name)] = UPD_BF16_CORRECTED;
  return storage;
}

bool fit(const Storage &some, const Storage &others) {
  for (const auto &[name, dtype] : some)
    if (auto other = others.find(name); other != others.end() && other->second != dtype)
      return false;
  return true;
}

/// Parameters that are stored alike, which are one group, with the rule compiled for them and an
/// optimizer.
class Batch {
public:
  Batch() = default;
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;
  ~Batch() {
    upd_optimizer_release(optimizer);
    upd_rule_release(rule);
  }

  /// Whether the parameter was added: its tensors are stored like those that are there.
  bool add(const std::string &name, Parameter &parameter) {
    Storage added = storageOf(parameter);
    if (!fit(added, storage))
      return false;
    storage.merge(added);
    names.push_back(&name);
    parameters.push_back(&parameter);
    return true;
  }

  Status prepare(const RunOptions &options) {
    if (Status status = compile(options); !status.ok())
      return status;
    for (const StateInterface &state : interface.states)
      if (isBlocked(state.dtype))
        return invalidArgument(fmt::format("state `{}` is stored in blocks, which updraft-run does "
                                           "not write; declare it with another storage type",
                                           state.name));
    if (Status status = create(); !status.ok())
      return status;
    for (size_t i = 0; i < parameters.size(); ++i)
      if (Status status = restore(i); !status.ok())
        return status;
    return {};
  }

  Status step() { return statusOf(upd_optimizer_step(optimizer, grads.data(), grads.size())); }

  /// Copies the states that the optimizer made, and the step counts.
  Status collect() {
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (Status status = statusOf(upd_optimizer_get_step(optimizer, i, &parameters[i]->step));
          !status.ok())
        return status;
      for (size_t s = 0; s < upd_rule_state_count(rule); ++s) {
        const char *name = upd_rule_state_name(rule, s);
        upd_tensor view;
        if (upd_optimizer_state(optimizer, i, name, &view) != UPD_OK)
          continue; // no gradient, so no state
        Tensor &state = parameters[i]->states[name];
        if (view.data == state.bytes.data() && !state.bytes.empty())
          continue; // the file's own tensor, updated in place
        state.dtype = view.dtype;
        state.shape.assign(view.shape, view.shape + view.rank);
        size_t elements = 1;
        for (int64_t size : state.shape)
          elements *= static_cast<size_t>(size);
        state.bytes.resize(elements * sizeOf(view.dtype));
        if (!state.bytes.empty())
          std::memcpy(state.bytes.data(), view.data, state.bytes.size());
      }
    }
    return {};
  }

private:
  Status compile(const RunOptions &options) {
    std::vector<upd_setting> settings;
    for (const auto &[name, value] : options.settings)
      settings.push_back({name.c_str(), value.c_str()});
    std::vector<upd_storage> types;
    for (const auto &[name, dtype] : storage)
      types.push_back({name.c_str(), dtype});
    upd_compile_options compileOptions{};
    compileOptions.struct_size = sizeof(compileOptions);
    compileOptions.rule = options.rule.empty() ? nullptr : options.rule.c_str();
    compileOptions.settings = settings.data();
    compileOptions.setting_count = settings.size();
    compileOptions.numerics = options.numerics.c_str();
    compileOptions.storage = types.data();
    compileOptions.storage_count = types.size();
    if (Status status =
            statusOf(upd_compile_file(options.ruleFile.c_str(), &compileOptions, &rule));
        !status.ok())
      return status;
    return RuleInterface::parse(upd_rule_interface(rule), interface);
  }

  Status create() {
    std::vector<upd_tensor> params;
    std::vector<const char *> cNames;
    for (size_t i = 0; i < parameters.size(); ++i) {
      params.push_back(parameters[i]->param.view());
      cNames.push_back(names[i]->c_str());
      upd_tensor absent{};
      absent.rank = -1;
      grads.push_back(parameters[i]->grad ? parameters[i]->grad->view() : absent);
    }
    upd_group group{params.data(), cNames.data(), params.size(), nullptr, 0};
    return statusOf(upd_optimizer_create(rule, &group, 1, nullptr, &optimizer));
  }

  /// Gives the optimizer what the file has of a parameter's states.
  Status restore(size_t i) {
    auto &states = parameters[i]->states;
    for (auto &[name, tensor] : states) {
      upd_tensor view = tensor.view();
      if (Status status = statusOf(upd_optimizer_bind_state(optimizer, i, name.c_str(), &view));
          !status.ok())
        return status;
    }
    if (Status status = checkStates(i); !status.ok())
      return status;
    return statusOf(upd_optimizer_set_step(optimizer, i, parameters[i]->step));
  }

  /// A parameter has all states of its own or none. One over the group may be missing, but is the
  /// same for all.
  Status checkStates(size_t i) {
    const std::string *present = nullptr, *missing = nullptr;
    const TensorClass tensors =
        parameters[i]->param.shape.size() < 2 ? TensorClass::Vector : TensorClass::Matrix;
    for (const StateInterface &state : interface.states) {
      const auto found = parameters[i]->states.find(state.name);
      const bool has = found != parameters[i]->states.end();
      if (state.over == Extent::Group) {
        if (!has)
          continue;
        auto [first, added] = groupStates.try_emplace(state.name, &found->second);
        if (!added && first->second->bytes != found->second.bytes)
          return invalidArgument(
              fmt::format("state `{}` of `{}` has another value than that of another parameter; "
                          "it is one for the whole group",
                          state.name, *names[i]));
      } else if (state.isOf(tensors)) {
        (has ? present : missing) = &state.name;
      }
    }
    if (!present || !missing)
      return {};
    return invalidArgument(fmt::format(
        "parameter `{}` has state `{}`, but not `{}`; give all of its states, or none for it to "
        "start from their initial values",
        *names[i], *present, *missing));
  }

  Storage storage;
  RuleInterface interface;
  std::map<std::string, const Tensor *> groupStates;
  std::vector<const std::string *> names;
  std::vector<Parameter *> parameters;
  std::vector<upd_tensor> grads;
  upd_rule *rule = nullptr;
  upd_optimizer *optimizer = nullptr;
};
} // namespace

Status updraft::run::run(const RunOptions &options, Parameters &parameters) {
  std::list<Batch> batches;
  for (auto &[name, parameter] : parameters) {
    auto fits = [&](Batch &batch) { return batch.add(name, parameter); };
    if (std::none_of(batches.begin(), batches.end(), fits))
      batches.emplace_back().add(name, parameter);
  }
  for (Batch &batch : batches)
    if (Status status = batch.prepare(options); !status.ok())
      return status;
  for (int64_t step = 0; step < options.steps; ++step)
    for (Batch &batch : batches)
      if (Status status = batch.step(); !status.ok())
        return status;
  for (Batch &batch : batches)
    if (Status status = batch.collect(); !status.ok())
      return status;
  return {};
}
