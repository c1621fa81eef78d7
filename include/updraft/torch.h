//===- updraft/torch.h - A compiled rule as an optimizer of LibTorch ----------------*- C++ -*-===//
// Tested with LibTorch 2.15. Needs the headers of updraft/. It contains no compiled part: link
// torch and libupdraft-runtime or libupdraft. With CMake: Updraft::Torch, which links both.
//
// Names are written as in LibTorch. Functions throw c10::Error, as LibTorch does.

#ifndef UPDRAFT_TORCH_H
#define UPDRAFT_TORCH_H

#include "updraft/torch/Archive.h"
#include "updraft/torch/Options.h"
#include "updraft/torch/Stepper.h"

#include <ATen/core/grad_mode.h>
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace updraft {
inline namespace v1 {
namespace torch {

/// An optimizer that applies a compiled rule to all parameters at once.
///
/// All parameters have the rule's parameter type, and are on the device that the rule was loaded
/// for: on the CPU or on one GPU. Their layout is any dense one. A step on the CPU runs on torch's
/// intra-op threads. On a GPU it runs on torch's current stream of that GPU, and doesn't wait for
/// it. A parameter without a gradient is not changed. A gradient is dense; if its layout isn't that
/// of the parameter, the step copies it.
///
/// The optimizer notices changes of `param_groups()`, such as other hyperparameters or more
/// parameters, and parameters that got other memory (`set_data`), and keeps the states. It keeps
/// the parameters alive, as LibTorch's optimizers do.
///
/// One thread at a time may use an optimizer. Optimizers of different parameters are independent,
/// and may share a rule.
class Optimizer : public ::torch::optim::Optimizer {
  using Base = ::torch::optim::Optimizer;
  using Groups = std::vector<::torch::optim::OptimizerParamGroup>;

public:
  /// `defaults` are hyperparameters of groups that don't give them (updraft/torch/Options.h).
  Optimizer(std::shared_ptr<const Rule> rule, const Groups &groups, const Options &defaults = {})
      : Base(Groups(), std::make_unique<Options>(completed(defaults, {}, *rule))) {
    for (const auto &group : groups)
      add(group, *rule);
    stepper = std::make_unique<detail::Stepper>(std::move(rule), param_groups_, copiedHypers());
  }
  Optimizer(std::shared_ptr<const Rule> rule, std::vector<at::Tensor> params,
            const Options &defaults = {})
      : Optimizer(std::move(rule), Groups{std::move(params)}, defaults) {}

  /// The same with a rule that no other optimizer shares.
  Optimizer(Rule rule, const Groups &groups, const Options &defaults = {})
      : Optimizer(std::make_shared<const Rule>(std::move(rule)), groups, defaults) {}
  Optimizer(Rule rule, std::vector<at::Tensor> params, const Options &defaults = {})
      : Optimizer(std::make_shared<const Rule>(std::move(rule)), std::move(params), defaults) {}

  /// Applies one step. With a closure, calls it first, with gradients enabled, and returns its
  /// result. On an error no parameter is changed.
  at::Tensor step(LossClosure closure = nullptr) override {
    at::Tensor loss;
    if (closure) {
      const at::AutoGradMode enabled(true);
      loss = closure();
    }
    const at::NoGradGuard disabled;
    stepper->step(param_groups_, hypers());
    return loss;
  }

  /// Adds a group. On an error the optimizer is unchanged. Called through the base class, the group
  /// has the default hyperparameters instead of its own.
  void add_param_group(const ::torch::optim::OptimizerParamGroup &group) {
    add(group, rule());
    try {
      stepper->update(param_groups_, hypers());
    } catch (...) {
      param_groups_.pop_back();
      throw;
    }
  }

  const Rule &rule() const { return stepper->compiledRule(); }

  using Base::state;
  /// Returns a tensor over a state of a parameter, which is valid after the optimizer is destroyed,
  /// too. Later steps write to it, until the parameter's memory or the groups change. Throws if the
  /// rule has no such state, or the parameter has taken no step.
  at::Tensor state(const at::Tensor &param, const std::string &name) const {
    return stepper->state(stepper->indexOf(param), name);
  }

  /// The number of steps that a parameter has taken. On a GPU, waits for the stream.
  int64_t step_count(const at::Tensor &param) const {
    return stepper->progress(stepper->indexOf(param)).steps;
  }

  /// The seed of a rule's random numbers, 0 by default.
  uint64_t seed() const { return stepper->seed(); }
  void set_seed(uint64_t seed) {
    detail::check(upd_optimizer_set_seed(stepper->optimizer(), seed));
  }

  /// Writes states, step counts and hyperparameters, for torch::save and torch::load. Training that
  /// resumes from them computes the same bits.
  void save(::torch::serialize::OutputArchive &archive) const override {
    const at::NoGradGuard disabled;
    stepper->update(param_groups_, hypers());
    detail::writeArchive(archive, *stepper, param_groups_);
  }

  /// Reads what `save` wrote. Parameters are identified by their order. On an error nothing is
  /// changed.
  void load(::torch::serialize::InputArchive &archive) override {
    const at::NoGradGuard disabled;
    detail::Stored stored = detail::readArchive(archive);
    TORCH_CHECK_VALUE(stored.rule == rule().name(), "the archive is of the rule `", stored.rule,
                      "`; the optimizer has the rule `", rule().name(), "`");
    TORCH_CHECK_VALUE(stored.options.size() == param_groups_.size(), "the archive has ",
                      stored.options.size(), " parameter groups; the optimizer has ",
                      param_groups_.size());
    std::vector<std::vector<Hyper>> values;
    std::vector<Options *> options;
    for (size_t i = 0; i < param_groups_.size(); ++i) {
      const size_t count = param_groups_[i].params().size();
      TORCH_CHECK_VALUE(static_cast<size_t>(stored.paramCounts[i]) == count, "parameter group ", i,
                        " of the archive has ", stored.paramCounts[i],
                        " parameters; that of the optimizer has ", count);
      stored.options[i] = completed(stored.options[i], optionsOf(i), rule());
      values.push_back(stored.options[i].hypers());
      options.push_back(&optionsOf(i));
    }
    detail::checkStates(stored, rule());
    stepper->bind(param_groups_, stored.progress, std::move(values), stored.seed);
    for (size_t i = 0; i < options.size(); ++i)
      *options[i] = std::move(stored.options[i]);
  }

  /// Writes or reads a safetensors file like that of upd_optimizer_save, which Updraft reads in
  /// other languages, too. Parameters are called "0", "1", … over all groups.
  void save_file(const std::string &path) const {
    stepper->update(param_groups_, hypers());
    detail::check(upd_optimizer_save(stepper->optimizer(), path.c_str()));
  }
  void load_file(const std::string &path) {
    stepper->update(param_groups_, hypers());
    upd_optimizer *optimizer = stepper->optimizer();
    detail::check(upd_optimizer_load(optimizer, path.c_str()));
    for (size_t i = 0; i < param_groups_.size(); ++i)
      for (const Hyper &hyper : std::vector<Hyper>(optionsOf(i).hypers())) {
        double value = 0;
        detail::check(upd_optimizer_get_hyper(optimizer, i, hyper.name.c_str(), &value));
        optionsOf(i).set(hyper.name, value);
      }
    stepper->update(param_groups_, hypers()); // the stepper learns of the loaded values
  }

private:
  /// Returns `given`, then `defaults`, then the rule's, in the order of the rule. Throws for a name
  /// that the rule doesn't have and for a value that it refuses.
  static Options completed(const Options &given, const Options &defaults, const Rule &rule) {
    const std::vector<upd_hyper> checked = v1::detail::hypersOf(given.hypers());
    detail::check(upd_rule_check_hypers(rule.get(), checked.data(), checked.size()));
    std::vector<Hyper> all;
    for (const Rule::HyperInfo &info : rule.hypers()) {
      const Options *first = given.has(info.name)      ? &given
                             : defaults.has(info.name) ? &defaults
                                                       : nullptr;
      all.push_back({std::string(info.name), first ? first->get(info.name) : info.defaultValue});
    }
    return Options(std::move(all));
  }

  static const Options &asOptions(const ::torch::optim::OptimizerOptions &options) {
    const auto *ours = dynamic_cast<const Options *>(&options);
    TORCH_CHECK_TYPE(ours, "the options of a parameter group are updraft::torch::Options, not "
                           "those of another optimizer");
    return *ours;
  }

  void add(const ::torch::optim::OptimizerParamGroup &group, const Rule &rule) {
    const Options given = group.has_options() ? asOptions(group.options()) : Options();
    auto options = std::make_unique<Options>(completed(given, asOptions(*defaults_), rule));
    // LibTorch replaces options of classes that it doesn't know by the defaults.
    Base::add_param_group(group.params());
    param_groups_.back().set_options(std::move(options));
  }

  Options &optionsOf(size_t group) const {
    return const_cast<Options &>(asOptions(param_groups_[group].options()));
  }

  /// The hyperparameters of all groups. Completes options that were replaced.
  std::vector<const std::vector<Hyper> *> hypers() const {
    std::vector<const std::vector<Hyper> *> result;
    result.reserve(param_groups_.size());
    for (size_t i = 0; i < param_groups_.size(); ++i) {
      Options &options = optionsOf(i);
      if (options.hypers().size() != hyperCount())
        options = completed(options, asOptions(*defaults_), rule());
      result.push_back(&options.hypers());
    }
    return result;
  }

  size_t hyperCount() const { return upd_rule_hyper_count(rule().get()); }

  std::vector<std::vector<Hyper>> copiedHypers() const {
    std::vector<std::vector<Hyper>> result;
    for (size_t i = 0; i < param_groups_.size(); ++i)
      result.push_back(optionsOf(i).hypers());
    return result;
  }

  std::unique_ptr<detail::Stepper> stepper;
};

} // namespace torch
} // namespace v1
} // namespace updraft

#endif // UPDRAFT_TORCH_H
