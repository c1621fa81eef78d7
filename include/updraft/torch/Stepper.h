//===- updraft/torch/Stepper.h - A rule over the parameter groups of torch ----------*- C++ -*-===//

#ifndef UPDRAFT_TORCH_STEPPER_H
#define UPDRAFT_TORCH_STEPPER_H

#include "updraft/torch/IntraOpPool.h"
#include "updraft/torch/Options.h"
#include "updraft/torch/Parameters.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/ScopeExit.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace updraft {
inline namespace v1 {
namespace torch {
namespace detail {

/// A state of a parameter. If it is stored in blocks, `values` are their codes.
struct State {
  std::string name;
  at::Tensor values;
  at::Tensor owner;      ///< of the memory of `values`; undefined if they own it
  at::Tensor scales;     ///< undefined if not in blocks
  std::string format;    ///< the blocks' storage type; empty if not in blocks
  bool together = false; ///< the scales follow the codes in the library's memory
};

/// Everything that steps have left of a parameter. The states are none or all.
struct Progress {
  int64_t steps = 0;
  std::vector<State> states;
};

/// An optimizer of the C API over all groups. If the groups or the memory of parameters change, it
/// is created anew and takes over the states.
class Stepper {
public:
  Stepper(std::shared_ptr<const Rule> compiled, const ParamGroups &groups,
          std::vector<std::vector<Hyper>> hypers)
      : rule(std::move(compiled)) {
    bind(groups, {}, std::move(hypers), 0);
  }

  const Rule &compiledRule() const { return *rule; }
  size_t paramCount() const { return params.size(); }

  void step(const ParamGroups &groups, const std::vector<const std::vector<Hyper> *> &hypers) {
    const auto drop = c10::make_scope_exit([this] { params.dropGradients(); });
    if (!params.look(groups)) {
      rebind(groups, hypers);
      const bool areThese = params.look(groups);
      TORCH_INTERNAL_ASSERT(areThese);
    }
    setHypers(hypers);
    setStream(*handle);
    check(upd_optimizer_prepare_addresses(handle->optimizer, params.gradients(), params.size(),
                                          nullptr, 0));
    const upd_step_observer observer = {[](void *context, const uint32_t *some, size_t count) {
                                          static_cast<const Parameters *>(context)->bumpVersions(
                                              some, count);
                                        },
                                        &params};
    check(upd_optimizer_apply_observed(handle->optimizer, &observer));
    // The host doesn't know yet which parameters a GPU skips.
    if (!handle->device.is_cpu())
      params.bumpVersions();
  }

  /// Takes over changes of the groups and of hyperparameters.
  void update(const ParamGroups &groups, const std::vector<const std::vector<Hyper> *> &hypers) {
    if (!params.areThoseOf(groups))
      rebind(groups, hypers);
    setHypers(hypers);
  }

  /// The optimizer of the C API, valid until the next call of a function that isn't const. On a GPU
  /// its work is ordered after that of torch's current stream.
  upd_optimizer *optimizer() const {
    setStream(*handle);
    return handle->optimizer;
  }

  /// The index of a parameter over all groups. Throws if it is in none.
  size_t indexOf(const at::Tensor &param) const {
    const auto indices = params.indices();
    const auto found = indices.find(param.unsafeGetTensorImpl());
    TORCH_CHECK_VALUE(found != indices.end(), "the tensor is not a parameter of this optimizer");
    return found->second;
  }

  /// Throws if the parameter doesn't have the state.
  at::Tensor state(size_t param, const std::string &name) const {
    upd_tensor view;
    check(upd_optimizer_state(optimizer(), param, name.c_str(), &view));
    return tensorOf(view);
  }

  /// The states of the group stay in the group if the parameter leaves it.
  Progress progress(size_t param, bool withGroup = true) const {
    Progress result;
    upd_optimizer *optimizer = this->optimizer();
    check(upd_optimizer_get_step(optimizer, param, &result.steps));
    upd_tensor view;
    for (const Rule::StateInfo &info : rule->states()) {
      if (info.extent == UPD_EXTENT_GROUP && !withGroup)
        continue;
      const upd_status status = upd_optimizer_state(optimizer, param, info.name.data(), &view);
      if (status == UPD_NOT_FOUND)
        continue;
      check(status);
      State state;
      state.name = info.name;
      state.values = tensorOf(view);
      if (const auto bound = handle->bound.find(view.data); bound != handle->bound.end())
        state.owner = bound->second;
      if (isBlocked(info.dtype)) {
        state.scales = this->state(param, state.name + ".scale");
        state.format = nameOf(info.dtype);
        state.together = true;
      }
      result.states.push_back(std::move(state));
    }
    return result;
  }

  uint64_t seed() const {
    uint64_t result = 0;
    check(upd_optimizer_get_seed(handle->optimizer, &result));
    return result;
  }

  /// Replaces everything. `progress` has an element for each parameter. On an error nothing is
  /// changed.
  void bind(const ParamGroups &groups, const std::vector<Progress> &progress,
            std::vector<std::vector<Hyper>> hypers, uint64_t seed) {
    Parameters bound(groups, rule->gradDtype());
    const std::vector<upd_tensor> views = bound.views();
    std::vector<std::vector<upd_hyper>> values;
    std::vector<upd_group> list;
    size_t first = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      values.push_back(v1::detail::hypersOf(hypers[i]));
      const size_t count = groups[i].params().size();
      list.push_back({views.data() + first, nullptr, count, values[i].data(), values[i].size()});
      first += count;
    }
    auto made = std::make_shared<Handle>();
    made->device = bound.device();
    check(upd_optimizer_create(rule->get(), list.data(), list.size(), intraOpPool(),
                               &made->optimizer));
    setStream(*made);
    check(upd_optimizer_set_seed(made->optimizer, seed));
    for (size_t i = 0; i < progress.size(); ++i) {
      for (const State &state : progress[i].states)
        bindState(*made, bound, i, state);
      if (progress[i].steps != 0)
        check(upd_optimizer_set_step(made->optimizer, i, progress[i].steps));
    }
    params = std::move(bound);
    handle = std::move(made);
    known = std::move(hypers);
  }

private:
  struct Handle {
    Handle() = default;
    Handle(const Handle &) = delete;
    ~Handle() { upd_optimizer_release(optimizer); }

    upd_optimizer *optimizer = nullptr;
    at::Device device = at::kCPU;
    std::unordered_map<const void *, at::Tensor> bound; ///< bound states, by address
  };

  /// On a GPU, orders the optimizer's work after the earlier work of torch's current stream.
  /// torch's registry of devices has the stream, so this needs no CUDA headers.
  static void setStream(const Handle &handle) {
    if (!handle.device.is_cuda())
      return;
    const c10::impl::VirtualGuardImpl guard(handle.device.type());
    check(upd_optimizer_set_stream(handle.optimizer,
                                   guard.getStreamNativeHandle(guard.getStream(handle.device))));
  }

  /// A tensor over a state, which keeps the state's memory alive.
  at::Tensor tensorOf(const upd_tensor &view) const {
    const auto bound = handle->bound.find(view.data);
    if (bound == handle->bound.end())
      return tensorOver(view, handle->device, [kept = handle](void *) {});
    return tensorOver(view, handle->device, [kept = bound->second](void *) {});
  }

  void setHypers(const std::vector<const std::vector<Hyper> *> &hypers) {
    for (size_t i = 0; i < hypers.size(); ++i) {
      if (areSame(*hypers[i], known[i]))
        continue;
      const std::vector<upd_hyper> values = v1::detail::hypersOf(*hypers[i]);
      check(upd_optimizer_set_hypers(handle->optimizer, i, values.data(), values.size()));
      known[i] = *hypers[i];
    }
  }

  static bool areSame(const std::vector<Hyper> &left, const std::vector<Hyper> &right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const Hyper &one, const Hyper &other) {
                        return one.value == other.value && one.name == other.name;
                      });
  }

  void rebind(const ParamGroups &groups, const std::vector<const std::vector<Hyper> *> &hypers) {
    const auto before = params.indices();
    const std::vector<std::optional<size_t>> sources = params.sourcesOf(groups, before);
    std::vector<Progress> kept;
    std::vector<std::vector<Hyper>> values;
    for (size_t i = 0; i < groups.size(); ++i) {
      values.push_back(*hypers[i]);
      for (const at::Tensor &param : groups[i].params()) {
        const auto found = before.find(param.unsafeGetTensorImpl());
        kept.push_back(found == before.end()
                           ? Progress()
                           : progress(found->second, params.groupOf(found->second) == sources[i]));
      }
    }
    bind(groups, kept, std::move(values), seed());
  }

  /// Binds the state, or a copy if its layout or device isn't what the parameter needs.
  void bindState(Handle &made, const Parameters &bound, size_t param, const State &state) const {
    const std::vector<Rule::StateInfo> infos = rule->states();
    const auto info = std::find_if(infos.begin(), infos.end(),
                                   [&](const auto &each) { return each.name == state.name; });
    TORCH_CHECK_VALUE(info != infos.end(), "unknown state `", state.name, "` of parameter ", param);
    const bool inBlocks = isBlocked(info->dtype);
    TORCH_CHECK_VALUE(state.format.empty() || state.format == nameOf(info->dtype), "state `",
                      state.name, "` of parameter ", param, " was saved as ", state.format,
                      ", but the rule stores it as ", nameOf(info->dtype),
                      "; compile the rule with the storage type that it was saved with");
    at::Tensor values = state.values;
    if (info->extent == UPD_EXTENT_ELEMENT && values.sizes() == bound.sizes(param))
      values = placed(values, bound.strides(param), made.device);
    else
      values = values.to(made.device).contiguous();
    const bool hasCodes = inBlocks && values.scalar_type() == at::kByte;
    const auto checkScales = [&](bool areRight) {
      TORCH_CHECK_VALUE(areRight, "the scales of state `", state.name, "` of parameter ", param,
                        " are missing or have another shape");
    };
    if (hasCodes) {
      checkScales(state.scales.defined());
      if (!state.together || !values.is_same(state.values))
        values = joined(values, state.scales);
    }
    upd_tensor view = viewOf(values, "a state");
    if (hasCodes)
      view.dtype = info->dtype;
    check(upd_optimizer_bind_state(made.optimizer, param, state.name.c_str(), &view));
    const bool hasOwner = state.owner.defined() && values.is_same(state.values);
    made.bound.emplace(view.data, hasOwner ? state.owner : values);
    // The library gives the shape of the scales once the state is bound. It hasn't read them yet.
    if (hasCodes) {
      check(upd_optimizer_state(made.optimizer, param, (state.name + ".scale").c_str(), &view));
      checkScales(state.scales.sizes() ==
                  at::IntArrayRef(view.shape, static_cast<size_t>(view.rank)));
    }
  }

  /// Copies codes and scales into one memory, where the scales follow the codes.
  static at::Tensor joined(const at::Tensor &codes, const at::Tensor &scales) {
    const int64_t offset = (codes.numel() + 3) / 4 * 4;
    at::Tensor memory = at::empty({offset + 4 * scales.numel()}, codes.options());
    at::Tensor result = memory.as_strided(codes.sizes(), codes.strides());
    result.copy_(codes);
    memory.slice(0, offset).view(at::kFloat).view(scales.sizes()).copy_(scales);
    return result;
  }

  std::shared_ptr<const Rule> rule;
  Parameters params;
  std::shared_ptr<Handle> handle;
  std::vector<std::vector<Hyper>> known; ///< the library's, by group
};

} // namespace detail
} // namespace torch
} // namespace v1
} // namespace updraft

#endif // UPDRAFT_TORCH_STEPPER_H
