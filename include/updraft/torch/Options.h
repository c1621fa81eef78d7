//===- updraft/torch/Options.h - Hyperparameters of a parameter group ---------------*- C++ -*-===//

#ifndef UPDRAFT_TORCH_OPTIONS_H
#define UPDRAFT_TORCH_OPTIONS_H

#include "updraft/Rule.h"

#include <c10/util/Exception.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace updraft {
inline namespace v1 {
namespace torch {

/// Hyperparameters by name, for a parameter group or as an optimizer's defaults:
///   Options({{"lr", 1e-2}, {"weight_decay", 0.1}})
/// In the constructor of an optimizer and in add_param_group, the hyperparameters that a group
/// doesn't give have the optimizer's defaults, and those that neither gives the rule's. Afterwards
/// the group's options contain all hyperparameters of the rule. A change takes effect in the next
/// step, which throws if the rule refuses the value.
class Options : public ::torch::optim::OptimizerOptions {
public:
  Options() = default;
  Options(std::initializer_list<Hyper> list) {
    for (const Hyper &hyper : list)
      set(hyper.name, hyper.value);
  }
  explicit Options(std::vector<Hyper> hypers) : values(std::move(hypers)) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// Throws if the hyperparameter is not in the options.
  double get(std::string_view name) const {
    const Hyper *hyper = find(name);
    TORCH_CHECK_VALUE(hyper, "the options have no hyperparameter `", name,
                      "`; they have: ", listed());
    return hyper->value;
  }

  /// Adds the hyperparameter if it is not in the options.
  Options &set(std::string_view name, double value) {
    if (const Hyper *hyper = find(name))
      const_cast<Hyper *>(hyper)->value = value;
    else
      values.push_back({std::string(name), value});
    return *this;
  }

  /// In the order of the rule, once the options belong to a group.
  const std::vector<Hyper> &hypers() const { return values; }

  /// The hyperparameter `lr`, which LibTorch's schedulers set.
  double get_lr() const override { return get("lr"); }
  void set_lr(const double lr) override { set("lr", lr); }

  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Options>(*this);
  }

  /// Each hyperparameter is a double of its name.
  void serialize(::torch::serialize::OutputArchive &archive) const override {
    for (const Hyper &hyper : values)
      archive.write(hyper.name, c10::IValue(hyper.value));
  }
  void serialize(::torch::serialize::InputArchive &archive) override {
    std::vector<Hyper> read;
    for (const std::string &name : archive.keys()) {
      c10::IValue value;
      archive.read(name, value);
      TORCH_CHECK_VALUE(value.isDouble(), "the hyperparameter `", name, "` is a ", value.tagKind(),
                        " in the archive; expected a double");
      read.push_back({name, value.toDouble()});
    }
    values = std::move(read);
  }

private:
  const Hyper *find(std::string_view name) const {
    for (const Hyper &hyper : values)
      if (hyper.name == name)
        return &hyper;
    return nullptr;
  }

  std::string listed() const {
    std::string names;
    for (const Hyper &hyper : values)
      names += (names.empty() ? "`" : ", `") + hyper.name + "`";
    return names.empty() ? "none" : names;
  }

  std::vector<Hyper> values;
};

} // namespace torch
} // namespace v1
} // namespace updraft

#endif // UPDRAFT_TORCH_OPTIONS_H
