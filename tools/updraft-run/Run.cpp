//===- Run.cpp - Applying a rule to the parameters of a file ----------------------------------===//

#include "Run.h"

#include "runtime/base/DType.h"
#include "updraft-c/optimizer.h"

#include <cstring>
#include <memory>

using namespace updraft::run;
using updraft::runtime::sizeOf;
using updraft::runtime::Status;
using updraft::runtime::storeRounded;

namespace {
Status statusOf(upd_status code) {
  return code == UPD_OK ? Status() : Status(code, upd_last_error());
}

/// The storage of a parameter's tensors, as the compiler takes it. States that the file does not
/// have are left to the rule.
using Storage = std::vector<std::pair<std::string, upd_dtype>>;

Storage storageOf(const Parameter &parameter) {
  Storage storage{{"param", parameter.param.dtype}};
  if (parameter.grad)
    storage.emplace_back("grad", parameter.grad->dtype);
  for (const auto &[name, tensor] : parameter.states)
    storage.emplace_back(name, tensor.dtype);
  return storage;
}

/// Parameters that are stored alike, with the rule compiled for them and an optimizer.
class Batch {
public:
  Batch() = default;
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;
  ~Batch() {
    upd_optimizer_release(optimizer);
    upd_rule_release(rule);
  }

  void add(const std::string &name, Parameter &parameter) {
    names.push_back(&name);
    parameters.push_back(&parameter);
  }

  Status prepare(const RunOptions &options, const Storage &storage) {
    if (Status status = compile(options, storage); !status.ok())
      return status;
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
        const Tensor &param = parameters[i]->param;
        state.bytes.resize(param.bytes.size() / sizeOf(param.dtype) * sizeOf(view.dtype));
        if (!state.bytes.empty())
          std::memcpy(state.bytes.data(), view.data, state.bytes.size());
      }
    }
    return {};
  }

private:
  Status compile(const RunOptions &options, const Storage &storage) {
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
    return statusOf(upd_compile_file(options.ruleFile.c_str(), &compileOptions, &rule));
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

  /// Gives the optimizer what the file has of a parameter's states; with some of them, the others
  /// start from their initial value.
  Status restore(size_t i) {
    auto &states = parameters[i]->states;
    if (!states.empty())
      for (size_t s = 0; s < upd_rule_state_count(rule); ++s)
        if (Status status =
                addIfMissing(i, upd_rule_state_name(rule, s), upd_rule_state_dtype(rule, s));
            !status.ok())
          return status;
    for (auto &[name, tensor] : states) {
      upd_tensor view = tensor.view();
      if (Status status = statusOf(upd_optimizer_bind_state(optimizer, i, name.c_str(), &view));
          !status.ok())
        return status;
    }
    return statusOf(upd_optimizer_set_step(optimizer, i, parameters[i]->step));
  }

  Status addIfMissing(size_t i, const char *name, upd_dtype dtype) {
    auto [position, added] = parameters[i]->states.try_emplace(name);
    if (!added)
      return {};
    double value;
    if (Status status = statusOf(upd_optimizer_initial_value(optimizer, i, name, &value));
        !status.ok())
      return status;
    const Tensor &param = parameters[i]->param;
    Tensor &state = position->second;
    state.dtype = dtype;
    state.shape = param.shape;
    state.bytes.resize(param.bytes.size() / sizeOf(param.dtype) * sizeOf(dtype));
    for (size_t offset = 0; offset < state.bytes.size(); offset += sizeOf(dtype))
      storeRounded(dtype, value, state.bytes.data() + offset);
    return {};
  }

  std::vector<const std::string *> names;
  std::vector<Parameter *> parameters;
  std::vector<upd_tensor> grads;
  upd_rule *rule = nullptr;
  upd_optimizer *optimizer = nullptr;
};
} // namespace

Status updraft::run::run(const RunOptions &options, Parameters &parameters) {
  std::map<Storage, Batch> batches;
  for (auto &[name, parameter] : parameters)
    batches[storageOf(parameter)].add(name, parameter);
  for (auto &[storage, batch] : batches)
    if (Status status = batch.prepare(options, storage); !status.ok())
      return status;
  for (int64_t step = 0; step < options.steps; ++step)
    for (auto &[storage, batch] : batches)
      if (Status status = batch.step(); !status.ok())
        return status;
  for (auto &[storage, batch] : batches)
    if (Status status = batch.collect(); !status.ok())
      return status;
  return {};
}
