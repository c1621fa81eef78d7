//===- updraft/Optimizer.h - Applying a rule to tensors -----------------------------*- C++ -*-===//
// Each function is one call of the function in updraft-c/optimizer.h with a similar name, whose
// comment says more: units, errors, GPUs.

#ifndef UPDRAFT_OPTIMIZER_H
#define UPDRAFT_OPTIMIZER_H

#include "updraft-c/optimizer.h"
#include "updraft-c/probes.h"
#include "updraft/Rule.h"
#include "updraft/Tensor.h"
#include "updraft/ThreadPool.h"

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace updraft {
inline namespace v1 {

/// Parameters that share hyperparameters.
struct ParamGroup {
  TensorList params;
  std::vector<Hyper> hypers = {};      // the others have the rule's defaults
  std::vector<std::string> names = {}; // one per parameter, unique; empty: "0", "1", …
};

/// The rows of probed steps, oldest first.
struct ProbeRows {
  std::vector<upd_probe_row> rows;
  std::vector<double> values; // as many for each row as Rule::probes has
  uint64_t lost = 0;          // older rows, which were overwritten before they were read

  /// As Optimizer::readProbes, for an optimizer of the C API.
  static Result<ProbeRows> read(const upd_optimizer *optimizer, uint64_t &cursor) {
    constexpr size_t most = 1024; // in a call
    const size_t probes = upd_optimizer_probe_count(optimizer);
    ProbeRows read;
    for (size_t count = most; count == most;) {
      const size_t before = read.rows.size();
      read.rows.resize(before + most);
      read.values.resize((before + most) * probes);
      uint64_t lost = 0;
      if (const upd_status status =
              upd_optimizer_read_probes(optimizer, &cursor, read.rows.data() + before,
                                        read.values.data() + before * probes, most, &count, &lost))
        return Error::last(status);
      read.lost += lost;
      read.rows.resize(before + count);
      read.values.resize((before + count) * probes);
    }
    return read;
  }
};

/// Applies a rule to parameters in groups. `param` is the number of a parameter over all groups,
/// and a gradient belongs to the parameter with the same number.
///
/// `grads` is a TensorList, or any container of upd_tensor: a step passes it on as it is.
class Optimizer {
public:
  /// Takes ownership of an optimizer of the C API.
  explicit Optimizer(upd_optimizer *owned = nullptr) : optimizer(owned) {}

  /// Steps run on the library's threads.
  static Result<Optimizer> create(const Rule &rule, Span<const ParamGroup> groups) {
    return create(rule, groups, nullptr, nullptr);
  }
  /// Steps run on the program's threads, which must outlive the optimizer.
  static Result<Optimizer> create(const Rule &rule, Span<const ParamGroup> groups,
                                  const ThreadPool &pool) {
    return create(rule, groups, &pool.get(), std::make_shared<ThreadPool>(pool));
  }

  upd_optimizer *get() const { return optimizer.get(); }

  size_t paramCount() const { return upd_optimizer_param_count(get()); }
  size_t groupCount() const { return upd_optimizer_group_count(get()); }

  //===--------------------------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------------------------===//

  Result<void> step(Span<const upd_tensor> grads) {
    return result(upd_optimizer_step(get(), grads.data(), grads.size()));
  }
  /// A step in which some gradients cover only some rows. `grads` may be empty.
  Result<void> stepRows(Span<const upd_tensor> grads, Span<const upd_row_grad> rowGrads) {
    return result(upd_optimizer_step_rows(get(), grads.data(), grads.size(), rowGrads.data(),
                                          rowGrads.size()));
  }

  /// A step in two halves: returns all errors and writes nothing; then `apply` cannot fail.
  Result<void> prepare(Span<const upd_tensor> grads, Span<const upd_row_grad> rowGrads = {}) {
    return result(upd_optimizer_prepare_rows(get(), grads.data(), grads.size(), rowGrads.data(),
                                             rowGrads.size()));
  }
  /// The same for gradients with the layout of their parameters. Null is an absent gradient.
  Result<void> prepareAddresses(Span<const void *const> grads,
                                Span<const upd_row_grad> rowGrads = {}) {
    return result(upd_optimizer_prepare_addresses(get(), grads.data(), grads.size(),
                                                  rowGrads.data(), rowGrads.size()));
  }
  Result<void> apply() { return result(upd_optimizer_apply(get())); }
  /// Calls `stepped(Span<const uint32_t> params)` for parameters that were stepped, on any threads.
  /// It must not throw, and must not use the optimizer.
  template <typename Stepped> Result<void> apply(Stepped &&stepped) {
    using Function = std::remove_reference_t<Stepped>;
    upd_step_observer observer;
    observer.stepped = [](void *context, const uint32_t *params, size_t count) noexcept {
      (*static_cast<Function *>(context))(Span<const uint32_t>(params, count));
    };
    observer.context = const_cast<std::remove_const_t<Function> *>(std::addressof(stepped));
    return result(upd_optimizer_apply_observed(get(), &observer));
  }

  /// A CUstream or cudaStream_t.
  Result<void> setStream(void *stream) { return result(upd_optimizer_set_stream(get(), stream)); }

  /// Steps change nothing while this f32 number isn't 0.
  Result<void> bindFoundInf(const TensorView &foundInf) {
    const upd_tensor tensor = foundInf.get();
    return result(upd_optimizer_bind_found_inf(get(), &tensor));
  }
  Result<void> unbindFoundInf() { return result(upd_optimizer_bind_found_inf(get(), nullptr)); }

  //===--------------------------------------------------------------------------------------===//
  // Hyperparameters, step counts and random numbers
  //===--------------------------------------------------------------------------------------===//

  Result<double> hyper(size_t group, const std::string &name) const {
    double value = 0;
    return result(upd_optimizer_get_hyper(get(), group, name.c_str(), &value), value);
  }
  Result<void> setHyper(size_t group, const std::string &name, double value) {
    return result(upd_optimizer_set_hyper(get(), group, name.c_str(), value));
  }
  /// On an error, none is set.
  Result<void> setHypers(size_t group, Span<const Hyper> hypers) {
    const std::vector<upd_hyper> list = detail::hypersOf(hypers);
    return result(upd_optimizer_set_hypers(get(), group, list.data(), list.size()));
  }
  Result<void> ignoreRequirements() { return result(upd_optimizer_ignore_requirements(get())); }
  /// Each step reads the hyperparameter from this number.
  Result<void> bindHyper(size_t group, const std::string &name, const TensorView &value) {
    const upd_tensor tensor = value.get();
    return result(upd_optimizer_bind_hyper(get(), group, name.c_str(), &tensor));
  }
  Result<void> unbindHyper(size_t group, const std::string &name) {
    return result(upd_optimizer_bind_hyper(get(), group, name.c_str(), nullptr));
  }

  Result<int64_t> stepCount(size_t param) const {
    int64_t count = 0;
    return result(upd_optimizer_get_step(get(), param, &count), count);
  }
  Result<std::vector<int64_t>> stepCounts() const {
    std::vector<int64_t> counts(paramCount());
    return result(upd_optimizer_get_steps(get(), counts.data(), counts.size()), counts);
  }
  Result<void> setStepCount(size_t param, int64_t count) {
    return result(upd_optimizer_set_step(get(), param, count));
  }
  /// GPUs: the step count is in the program's memory.
  Result<void> bindStepCount(size_t param, const TensorView &count) {
    const upd_tensor tensor = count.get();
    return result(upd_optimizer_bind_step(get(), param, &tensor));
  }

  Result<uint64_t> seed() const {
    uint64_t value = 0;
    return result(upd_optimizer_get_seed(get(), &value), value);
  }
  Result<void> setSeed(uint64_t seed) { return result(upd_optimizer_set_seed(get(), seed)); }
  Result<void> setParamNumbers(Span<const uint64_t> numbers) {
    return result(upd_optimizer_set_param_numbers(get(), numbers.data(), numbers.size()));
  }

  //===--------------------------------------------------------------------------------------===//
  // Probes
  //===--------------------------------------------------------------------------------------===//

  /// Probes each step whose number is a multiple of `every`; 0: none. The only error is that the
  /// optimizer is empty.
  Result<void> setProbeEvery(uint64_t every) {
    return result(upd_optimizer_set_probe_every(get(), every));
  }
  Result<uint64_t> probeEvery() const {
    uint64_t every = 0;
    return result(upd_optimizer_get_probe_every(get(), &every), every);
  }
  /// Returns the rows that steps have added since `cursor`, and moves the cursor behind them. Start
  /// with 0. Any number of threads may call this at any time, each with its own cursor, also during
  /// a step of another thread. The only error is that the optimizer is empty.
  Result<ProbeRows> readProbes(uint64_t &cursor) const { return ProbeRows::read(get(), cursor); }

  //===--------------------------------------------------------------------------------------===//
  // States and files
  //===--------------------------------------------------------------------------------------===//

  /// A view of a state's memory, valid until the optimizer is released.
  Result<TensorView> state(size_t param, const std::string &name) {
    upd_tensor tensor{};
    if (const upd_status status = upd_optimizer_state(get(), param, name.c_str(), &tensor))
      return Error::last(status);
    return TensorView(tensor);
  }
  Result<double> initialValue(size_t param, const std::string &state) const {
    double value = 0;
    return result(upd_optimizer_initial_value(get(), param, state.c_str(), &value), value);
  }
  /// Uses the program's memory for a state, and its content as the state's value.
  Result<void> bindState(size_t param, const std::string &name, const TensorView &memory) {
    const upd_tensor tensor = memory.get();
    return result(upd_optimizer_bind_state(get(), param, name.c_str(), &tensor));
  }

  /// Writes states, step counts and hyperparameters to a safetensors file.
  Result<void> save(const std::string &path) {
    return result(upd_optimizer_save(get(), path.c_str()));
  }
  Result<void> load(const std::string &path) {
    return result(upd_optimizer_load(get(), path.c_str()));
  }

private:
  static Result<void> result(upd_status status) { return Result<void>(status); }
  template <typename T> static Result<T> result(upd_status status, T &value) {
    if (status != UPD_OK)
      return Error::last(status);
    return std::move(value);
  }

  static Result<Optimizer> create(const Rule &rule, Span<const ParamGroup> groups,
                                  const upd_pool *pool, std::shared_ptr<ThreadPool> owner) {
    std::vector<std::vector<upd_hyper>> hypers;
    std::vector<std::vector<const char *>> names;
    std::vector<upd_group> list;
    for (const ParamGroup &group : groups) {
      const size_t count = group.params.size();
      if (!group.names.empty() && group.names.size() != count)
        return Error{UPD_INVALID_ARGUMENT, "group " + std::to_string(list.size()) + " has " +
                                               std::to_string(count) + " parameters but " +
                                               std::to_string(group.names.size()) +
                                               " names; give one name for each parameter, or none"};
      hypers.push_back(detail::hypersOf(group.hypers));
      names.emplace_back().reserve(group.names.size());
      for (const std::string &name : group.names)
        names.back().push_back(name.c_str());
      list.push_back({group.params.data(), group.names.empty() ? nullptr : names.back().data(),
                      count, hypers.back().data(), hypers.back().size()});
    }
    upd_optimizer *created = nullptr;
    if (const upd_status status =
            upd_optimizer_create(rule.get(), list.data(), list.size(), pool, &created))
      return Error::last(status);
    Optimizer result(created);
    result.optimizer.get_deleter().pool = std::move(owner);
    return result;
  }

  // Keeps the function of the pool until the optimizer is released.
  struct Release {
    std::shared_ptr<ThreadPool> pool;
    void operator()(upd_optimizer *owned) const { upd_optimizer_release(owned); }
  };
  std::unique_ptr<upd_optimizer, Release> optimizer;
};

} // namespace v1
} // namespace updraft

#endif // UPDRAFT_OPTIMIZER_H
