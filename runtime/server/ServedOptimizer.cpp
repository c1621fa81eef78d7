//===- ServedOptimizer.cpp - An optimizer that clients step -----------------------------------===//

#include "runtime/server/ServedOptimizer.h"

#include "runtime/base/DType.h"
#include "runtime/server/Refusal.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

using namespace updraft::server;
using updraft::runtime::nameOf;

/// Throws the library's error.
static void check(upd_status status) {
  if (status == UPD_OK)
    return;
  const Reason reason = status == UPD_NOT_FOUND        ? Reason::NotFound
                        : status == UPD_OUT_OF_MEMORY  ? Reason::ResourceExhausted
                        : status == UPD_INTERNAL_ERROR ? Reason::Internal
                                                       : Reason::InvalidArgument;
  throw Refusal(reason, upd_last_error());
}

static std::vector<upd_hyper> viewsOf(const Hypers &hypers) {
  std::vector<upd_hyper> result;
  for (const auto &[name, value] : hypers)
    result.push_back({name.c_str(), value});
  return result;
}

ServedOptimizer::ServedOptimizer(RulePointer compiled, const std::vector<GroupRequest> &groups,
                                 uint64_t seed, const ParameterStore &store)
    : rule(std::move(compiled)), optimizer(nullptr, upd_optimizer_release) {
  for (const GroupRequest &group : groups)
    for (const auto &parameter : store.find(group.parameters))
      params.push_back(parameter);
  if (upd_rule_depends_on(rule.get()) == UPD_EXTENT_GROUP &&
      std::any_of(groups.begin(), groups.end(), [](const auto &group) { return group.isPart; }))
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("the rule `{}` depends on a whole group, and one has parameters on "
                              "several workers; give those of each worker a group of their own",
                              upd_rule_name(rule.get())));
  std::set<std::string> names;
  for (const auto &parameter : params)
    if (!names.insert(parameter->name).second)
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
  hypers.reserve(groups.size());
  for (const GroupRequest &group : groups)
    hypers.push_back(viewsOf(group.hypers));
  for (size_t i = 0; i < groups.size(); ++i) {
    const size_t count = groups[i].parameters.size();
    list.push_back({views.data() + first, viewNames.data() + first, count, hypers[i].data(),
                    hypers[i].size()});
    first += count;
  }
  upd_optimizer *created = nullptr;
  ::check(upd_optimizer_create(rule.get(), list.data(), list.size(), nullptr, &created));
  optimizer.reset(created);
  ::check(upd_optimizer_set_seed(created, seed));
}

size_t ServedOptimizer::positionOf(const std::string &parameter) const {
  const auto found = std::find_if(params.begin(), params.end(),
                                  [&](const auto &one) { return one->name == parameter; });
  if (found == params.end())
    throw Refusal(Reason::NotFound, fmt::format("the optimizer has no parameter `{}`", parameter));
  return static_cast<size_t>(found - params.begin());
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

class ServedOptimizer::Step : public dist::LockedStep {
public:
  Step(ServedOptimizer &optimizer, const std::map<size_t, SummedGradient> &gradients)
      : optimizer(optimizer), whole(optimizer.params.size()) {
    for (upd_tensor &absent : whole)
      absent.rank = UPD_ABSENT;
    for (const auto &[param, gradient] : gradients) {
      places.push_back(param);
      if (gradient.isWhole)
        whole[param] = gradient.view;
      else
        rows.push_back({param, gradient.rows.data(), gradient.rows.size(), gradient.view, 1});
    }
  }

  int64_t run() { return LockedStep::run(optimizer.mutex, optimizer.locks, places); }

private:
  bool isRepeated() const override { return false; } // the request table knows
  void takeHypers() override {}
  size_t bucketCount() const override { return 1; }
  void prepare(size_t) override {
    ::check(upd_optimizer_prepare_rows(optimizer.optimizer.get(), whole.data(), whole.size(),
                                       rows.data(), rows.size()));
  }
  void record() override {}
  void apply(size_t) override {
    ::check(upd_optimizer_apply(optimizer.optimizer.get())); // doesn't fail once it is prepared
    for (size_t place : places)
      ++optimizer.params[place]->version;
  }
  void abandon(size_t) override {} // the next preparation discards it

  ServedOptimizer &optimizer;
  std::vector<upd_tensor> whole;
  std::vector<upd_row_grad> rows;
  std::vector<size_t> places;
};

int64_t ServedOptimizer::step(GradientContext &context, Budget &budget) {
  return Step(*this, context.sum(budget)).run();
}

void ServedOptimizer::setHypers(size_t group, const Hypers &hypers) {
  const std::vector<upd_hyper> values = viewsOf(hypers);
  const std::lock_guard guard(mutex);
  ::check(upd_optimizer_set_hypers(optimizer.get(), group, values.data(), values.size()));
}
