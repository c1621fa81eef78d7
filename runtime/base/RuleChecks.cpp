//===- RuleChecks.cpp - Whether a rule's interface is consistent ------------------------------===//

#include "runtime/base/RuleChecks.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <span>

using namespace updraft::runtime;

/// Whether all tensors, or all of one class, have exactly one plan.
static bool hasPlanPerTensor(std::span<const PlanInterface> plans) {
  size_t any = 0, vectors = 0;
  uint32_t shapes = 0;
  for (const PlanInterface &plan : plans) {
    any += plan.tensors == TensorClass::Any;
    vectors += plan.tensors == TensorClass::Vector;
    if (plan.tensors != TensorClass::Matrix) {
      if (plan.shapes != AllMatrices)
        return false;
      continue;
    }
    if (plan.shapes == 0 || (shapes & plan.shapes) != 0)
      return false;
    shapes |= plan.shapes;
  }
  if (any != 0)
    return plans.size() == 1;
  return vectors <= 1 && (shapes == AllMatrices || (shapes == 0 && vectors == 1));
}

static std::string problemOf(const StateInterface &state) {
  if (state.over == Extent::Batch)
    return fmt::format("state `{}` is over a batch", state.name);
  if (isMatrix(state.over) && state.over != Extent::Element && !isSquare(state.over))
    return fmt::format("state `{}` is over chosen rows or columns", state.name);
  if (isBlocked(state.dtype) && state.over != Extent::Element)
    return fmt::format("state `{}` has blocks, but is not over elements", state.name);
  return {};
}

/// Whether another bucket of the same histogram must follow.
static bool isOpen(const ProbeInterface &probe) { return probe.end && !std::isinf(*probe.end); }

/// Checks the names of hyperparameters or states.
template <typename Named>
static std::string problemOfNames(const char *what, const std::vector<Named> &list) {
  std::set<std::string> seen;
  for (const Named &each : list) {
    if (each.name.empty())
      return fmt::format("a {} has no name", what);
    if (!seen.insert(each.name).second)
      return fmt::format("{} `{}` appears twice", what, each.name);
  }
  return {};
}

/// Checks that names are unique, and that the buckets of each histogram are complete.
static std::string problemOfProbes(const std::vector<ProbeInterface> &probes) {
  std::vector<ProbeInterface> firsts; // of each histogram, and the other probes
  for (size_t i = 0; i < probes.size(); ++i) {
    const std::optional<double> end = probes[i].end;
    const bool continues = i != 0 && isOpen(probes[i - 1]);
    if (continues && (!end || probes[i].name != probes[i - 1].name))
      return fmt::format("the histogram `{}` has no last bucket", probes[i - 1].name);
    if (end && (std::isnan(*end) || *end <= (continues ? *probes[i - 1].end : -INFINITY) ||
                (!continues && std::isinf(*end))))
      return fmt::format("a bucket of `{}` ends at {}", probes[i].name, *end);
    if (!continues)
      firsts.push_back(probes[i]);
  }
  if (!probes.empty() && isOpen(probes.back()))
    return fmt::format("the histogram `{}` has no last bucket", probes.back().name);
  return problemOfNames("probe", firsts);
}

static std::string problemOfScalars(const RuleInterface &rule) {
  if (rule.compute != UPD_F32 && rule.compute != UPD_F64)
    return fmt::format("rules compute in `f32` or `f64`, not `{}`", nameOf(rule.compute));
  for (auto [dtype, what] : {std::pair(rule.param, "parameter"), {rule.grad, "gradient"}})
    if (isBlocked(dtype))
      return fmt::format("the {} is `{}`, which is for states", what, nameOf(dtype));
  if (rule.dependsOn != Extent::Element && rule.dependsOn != Extent::Tensor &&
      rule.dependsOn != Extent::Group)
    return "`depends_on` is neither elements, nor tensor, nor group";
  for (const HyperInterface &hyper : rule.hypers)
    if (std::isnan(hyper.defaultValue))
      return fmt::format("the default of `{}` is NaN", hyper.name);
  for (const DerivedInterface &flag : rule.derived) {
    if (flag.message >= rule.messages.size())
      return fmt::format("derived flag `{}` has message {} of {}", flag.flag, flag.message,
                         rule.messages.size());
    for (const uint32_t hyper : flag.hypers)
      if (hyper >= rule.hypers.size())
        return fmt::format("derived flag `{}` has hyperparameter {} of {}", flag.flag, hyper,
                           rule.hypers.size());
  }
  return {};
}

/// Whether the plans can take part in the same step.
static bool haveSameGroupReductions(std::span<const PlanInterface> plans) {
  return plans.size() != 2 || plans[0].groupReductions() == plans[1].groupReductions();
}

/// Checks that each tensor has a plan, and if there are probes, one for probed steps.
static std::string problemOfPlans(const RuleInterface &rule) {
  if (rule.plans.empty())
    return "there is no plan";
  const size_t unprobed = rule.unprobedPlans();
  if (!rule.probes.empty() && rule.plans.size() % 2 != 0)
    return "the rule has probes, but not a plan for probed steps beside each other plan";
  for (size_t i = 0; i < rule.plans.size(); ++i) {
    const PlanInterface &plan = rule.plans[i];
    if (plan.isProbed != (i >= unprobed))
      return fmt::format("plan {} is for {} steps, in the place of one for the others", i,
                         plan.isProbed ? "probed" : "unprobed");
    if (!plan.isProbed)
      continue;
    const PlanInterface &other = rule.plans[i - unprobed];
    if (plan.tensors != other.tensors || plan.shapes != other.shapes ||
        plan.scalarStates != other.scalarStates)
      return fmt::format("plan {} is for other tensors or states than plan {}", i, i - unprobed);
  }
  if (!hasPlanPerTensor(std::span(rule.plans).first(unprobed)))
    return "there is not exactly one plan for each tensor";
  return {};
}

bool RuleInterface::multiplies() const {
  return std::any_of(plans.begin(), plans.end(),
                     [](const PlanInterface &plan) { return !plan.products.empty(); });
}

bool RuleInterface::hasBF16Products() const {
  return std::any_of(plans.begin(), plans.end(), [](const PlanInterface &plan) {
    return std::any_of(
        plan.products.begin(), plan.products.end(),
        [](const ProductInterface &product) { return product.operandFormat == UPD_BF16; });
  });
}

bool RuleInterface::usesRows() const {
  return std::any_of(plans.begin(), plans.end(),
                     [](const PlanInterface &plan) { return plan.usesRows(); });
}

std::string updraft::runtime::problemOf(const RuleInterface &rule) {
  if (rule.name.empty())
    return "the rule has no name";
  if (std::string problem = problemOfNames("hyperparameter", rule.hypers); !problem.empty())
    return problem;
  if (std::string problem = problemOfNames("state", rule.states); !problem.empty())
    return problem;
  if (std::string problem = problemOfProbes(rule.probes); !problem.empty())
    return problem;
  if (std::string problem = problemOfScalars(rule); !problem.empty())
    return problem;
  for (const StateInterface &state : rule.states)
    if (std::string problem = ::problemOf(state); !problem.empty())
      return problem;
  if (std::string problem = problemOfPlans(rule); !problem.empty())
    return problem;
  for (const StateInterface &state : rule.states)
    if (std::none_of(rule.plans.begin(), rule.plans.end(),
                     [&](const PlanInterface &plan) { return state.isOf(plan.tensors); }))
      return fmt::format("no plan has state `{}`", state.name);
  for (const StateInterface &state : rule.states)
    if (isSquare(state.over) &&
        std::any_of(rule.plans.begin(), rule.plans.end(), [&](const PlanInterface &plan) {
          return plan.tensors != TensorClass::Matrix && state.isOf(plan.tensors);
        }))
      return fmt::format("state `{}` is over square matrices, but not of matrices alone",
                         state.name);
  for (const PlanInterface &plan : rule.plans)
    if (std::string problem = problemOf(rule, plan); !problem.empty())
      return problem;
  const std::span<const PlanInterface> plans(rule.plans);
  const size_t unprobed = rule.unprobedPlans();
  if (!haveSameGroupReductions(plans.first(unprobed)) ||
      !haveSameGroupReductions(plans.subspan(unprobed)))
    return "the plans have different reductions over the group";
  return {};
}
