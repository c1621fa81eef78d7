//===- LocalOptimizer.cpp - A distributed optimizer's part on one worker ----------------------===//

#include "runtime/torch/rpc/LocalOptimizer.h"

#include "runtime/base/DType.h"
#include "runtime/torch/TensorView.h"
#include "runtime/torch/rpc/TensorLocks.h"

#include <c10/util/ScopeExit.h>
#include <torch/csrc/distributed/autograd/context/container.h>

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>

using namespace updraft::torch_adapter;
namespace dist = updraft::dist;
using torch::distributed::autograd::ContextPtr;
using torch::distributed::autograd::DistAutogradContainer;
using updraft::runtime::MemoryRange;
using updraft::runtime::MemoryRanges;
using updraft::runtime::nameOf;

/// The storage type of a parameter; a complex one is stored as pairs. Throws, with the parameter's
/// number, if no step can be compiled for it.
static upd_dtype storageOf(const at::Tensor &param, int64_t number) {
  return viewOf(realOf(param.detach()), fmt::format("parameter {}", number).c_str()).dtype;
}

/// Refuses parameters that share memory. The owner of each range is the position of a parameter.
static MemoryRanges requireApart(std::vector<MemoryRange> ranges,
                                 const std::vector<int64_t> &numbers) {
  MemoryRanges apart;
  const MemoryRange *one = nullptr, *other = nullptr;
  if (apart.assign(std::move(ranges), one, other))
    return apart;
  const auto [first, second] = std::minmax({numbers[one->owner], numbers[other->owner]});
  TORCH_CHECK_VALUE(false, "parameters ", first, " and ", second,
                    " are the same or share memory, where each step would be taken twice; give "
                    "one of them");
}

LocalOptimizer::LocalOptimizer(const OptimizerRequest &request, std::vector<at::Tensor> tensors)
    : params(std::move(tensors)), countVersions(request.countVersions) {
  std::vector<std::map<upd_dtype, std::vector<size_t>>> byType(request.groups.size());
  std::vector<MemoryRange> ranges;
  for (size_t group = 0; group < request.groups.size(); ++group)
    for (size_t i = 0; i < request.groups[group].params.size(); ++i) {
      const int64_t place = request.groups[group].params[i];
      numbers.push_back(request.groups[group].numbers[i]);
      TORCH_CHECK_VALUE(place >= 0 && place < static_cast<int64_t>(params.size()),
                        "the request for an optimizer has no parameter ", place);
      const at::Tensor &param = params[place];
      TORCH_CHECK_VALUE(param.is_leaf(), "parameter ", numbers.back(),
                        " is not a leaf of autograd: it is the result of an operation, and "
                        "gets no gradient; give the tensor that it was made from");
      TORCH_CHECK(!param.is_complex() || request.complexRefusal.empty(), request.complexRefusal);
      byType[group][storageOf(param, numbers.back())].push_back(i);
      ranges.push_back(memoryOf(param));
      ranges.back().owner = static_cast<uint32_t>(ranges.size() - 1);
    }
  MemoryRanges apart = requireApart(std::move(ranges), numbers);
  std::map<size_t, int64_t> byPlace;
  for (const GroupRequest &group : request.groups)
    for (size_t i = 0; i < group.params.size(); ++i)
      byPlace.emplace(group.params[i], group.numbers[i]);
  locks = dist::StorageLocks(memoryOf(params), [byPlace](size_t place) {
    return fmt::format("parameter {}", byPlace.at(place));
  });
  for (size_t group = 0; group < request.groups.size(); ++group) {
    const size_t first = buckets.size();
    for (const auto &[dtype, members] : byType[group])
      addBucket(request, group, dtype, members);
    requireTogether(request.groups[group], first);
  }
  // A bucket itself refuses gradients that overlap its parameters.
  if (buckets.size() > 1)
    memory = std::move(apart);
}

void LocalOptimizer::requireTogether(const GroupRequest &group, size_t first) const {
  const bool hasSeveralTypes = buckets.size() - first > 1;
  if (first == buckets.size() || (!hasSeveralTypes && group.owners.size() < 2))
    return;
  const Bucket &one = buckets[first];
  if (!dependsOnGroup(one.rule.get()))
    return;
  std::vector<std::string> dtypes;
  for (size_t i = first; i < buckets.size(); ++i) {
    const at::ScalarType type = params[buckets[i].params.front()].scalar_type();
    dtypes.push_back(fmt::format("torch.{}", c10::getDtypeNames(type).first));
  }
  const std::string rule = fmt::format("the rule `{}` depends on a whole group, and one has "
                                       "parameters that are stepped apart",
                                       Library::get().upd_rule_name(one.rule.get()));
  TORCH_CHECK_NOT_IMPLEMENTED(!hasSeveralTypes, rule, " (",
                              fmt::format("{}", fmt::join(dtypes, ", ")),
                              "); give each kind a group of its own");
  TORCH_CHECK_NOT_IMPLEMENTED(false, rule, " (on `",
                              fmt::format("{}", fmt::join(group.owners, "`, `")),
                              "`); give those of each worker a group of their own");
}

/// Calls `make` with each choice until one compiles. If none does, throws the error of the second
/// to last, because the last lacks the group's hyperparameters.
template <typename Make>
static void specialize(const std::vector<Settings> &choices, const Make &make) {
  std::vector<CompileError> refusals;
  for (const Settings &choice : choices) {
    try {
      return make(choice);
    } catch (const CompileError &error) {
      refusals.push_back(error);
    }
  }
  TORCH_CHECK_VALUE(!refusals.empty(), "the request for an optimizer has no settings");
  throw CompileError(refusals[refusals.size() < 2 ? 0 : refusals.size() - 2]);
}

void LocalOptimizer::addBucket(const OptimizerRequest &request, size_t number, upd_dtype dtype,
                               const std::vector<size_t> &members) {
  const GroupRequest &group = request.groups[number];
  Bucket bucket;
  bucket.group = number;
  bucket.dtype = dtype;
  std::vector<at::Tensor> tensors;
  for (size_t member : members) {
    bucket.params.push_back(static_cast<size_t>(group.params[member]));
    bucket.numbers.push_back(group.numbers[member]);
    tensors.push_back(params[bucket.params.back()]);
  }
  auto found = group.hypers.find(dtype);
  auto choices = group.choices.find(dtype);
  TORCH_CHECK_VALUE(found != group.hypers.end() && choices != group.choices.end(),
                    "the request for an optimizer has no hyperparameters for ", nameOf(dtype));
  std::vector<double> values;
  for (const auto &[name, value] : found->second)
    values.push_back(value);
  std::vector<std::string> names;
  for (int64_t number : bucket.numbers)
    names.push_back(std::to_string(number));
  specialize(choices->second, [&](const Settings &settings) {
    bucket.rule = compileRule(request.rule, group.source, settings, dtype);
    if (std::ranges::any_of(tensors, &at::Tensor::is_complex))
      requirePairs(bucket.rule.get());
    bucket.stepper =
        c10::make_intrusive<GroupStepper>(bucket.rule.get(), tensors, values, group.sparseRefusal,
                                          group.denseRefusal, group.sparseAsDense, names);
  });
  bucket.stepper->setRandom(group.seed, bucket.numbers);
  bucket.states = StoredStates(bucket.rule.get());
  buckets.push_back(std::move(bucket));
}

std::string LocalOptimizer::parts() const {
  std::string result;
  for (const Bucket &bucket : buckets)
    result += fmt::format("{}{}:{}", result.empty() ? "" : " ", bucket.group, nameOf(bucket.dtype));
  return result;
}

void LocalOptimizer::takeHypers(const std::vector<double> &hypers) {
  std::vector<size_t> counts;
  counts.reserve(buckets.size());
  for (const Bucket &bucket : buckets)
    counts.push_back(Library::get().upd_rule_hyper_count(bucket.rule.get()));
  const size_t count = std::accumulate(counts.begin(), counts.end(), size_t(0));
  TORCH_CHECK_VALUE(hypers.size() == count, "a step came with ", hypers.size(),
                    " hyperparameters; the rules of this worker have ", count);
  auto given = hypers.begin();
  for (size_t i = 0; i < buckets.size(); ++i) {
    const auto end = given + static_cast<std::ptrdiff_t>(counts[i]);
    buckets[i].stepper->setHypers({given, end});
    given = end;
  }
}

void LocalOptimizer::requireOwnMemory(const Bucket &bucket) const {
  bucket.stepper->forPrepared([&](size_t param, const MemoryRange &grad) {
    const MemoryRange *owner = memory.find(grad);
    TORCH_CHECK_VALUE(!owner, "gradient of parameter `", bucket.numbers[param],
                      "` overlaps parameter `", numbers[owner->owner],
                      "`; a step only reads gradients, so give it memory of its own");
  });
}

void LocalOptimizer::prepare(size_t bucket, const std::vector<at::Tensor> &grads) {
  GroupStepper &stepper = *buckets[bucket].stepper;
  TORCH_CHECK(stepper.lookAndPrepare(grads),
              "a parameter has other memory than when the optimizer was made; make another "
              "optimizer after `.data` of a parameter was set");
  if (memory.empty())
    return;
  auto undo = c10::make_scope_exit([&] { stepper.abandon(); });
  requireOwnMemory(buckets[bucket]);
  undo.release();
}

class LocalOptimizer::Step : public dist::ContextStep {
public:
  Step(LocalOptimizer &optimizer, int64_t number, const ContextPtr &context, int64_t before,
       const std::vector<double> &hypers)
      : ContextStep(*optimizer.progress, number, context, before), optimizer(optimizer),
        hypers(hypers), held(context->getGradients()) {
    for (const Bucket &bucket : optimizer.buckets) {
      std::vector<at::Tensor> &some = grads.emplace_back();
      for (size_t place : bucket.params) {
        auto found = held.find(optimizer.params[place]);
        some.push_back(found == held.end() ? at::Tensor() : found->value());
        if (found != held.end())
          places.push_back(place);
      }
    }
  }

  int64_t run() { return ContextStep::run(optimizer.locks, places); }

private:
  GroupStepper &stepper(size_t bucket) { return *optimizer.buckets[bucket].stepper; }

  void takeHypers() override { optimizer.takeHypers(hypers); }
  size_t bucketCount() const override { return optimizer.buckets.size(); }
  void prepare(size_t bucket) override { optimizer.prepare(bucket, grads[bucket]); }
  void apply(size_t bucket) override { stepper(bucket).apply(optimizer.countVersions); }
  void abandon(size_t bucket) override { stepper(bucket).abandon(); }

  LocalOptimizer &optimizer;
  const std::vector<double> &hypers;
  // Freed after all locks are released: dropping the last reference to a tensor may wait for
  // Python.
  c10::Dict<at::Tensor, at::Tensor> held;
  std::vector<std::vector<at::Tensor>> grads; // by bucket
  std::vector<size_t> places;
};

int64_t LocalOptimizer::step(int64_t number, int64_t before, const std::vector<double> &hypers) {
  // The container refuses an unknown context, which isn't an error here.
  ContextPtr context;
  try {
    context = DistAutogradContainer::getInstance().retrieveContext(number);
  } catch (const c10::Error &) {
    return 0;
  }
  return Step(*this, number, context, before, hypers).run();
}

c10::Dict<std::string, at::Tensor> LocalOptimizer::states() {
  std::lock_guard guard(progress->lock);
  c10::Dict<std::string, at::Tensor> result;
  for (const Bucket &bucket : buckets)
    for (size_t i = 0; i < bucket.params.size(); ++i)
      for (auto &[name, state] : bucket.states.copy(*bucket.stepper, static_cast<int64_t>(i)))
        result.insert(fmt::format("{}/{}", bucket.numbers[i], name), state);
  return result;
}

/// The given states by the numbers of parameters.
static std::map<int64_t, StatesByName> byNumber(const c10::Dict<std::string, at::Tensor> &states) {
  std::map<int64_t, StatesByName> result;
  for (const auto &entry : states) {
    const std::string &key = entry.key();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    TORCH_CHECK_VALUE(error == std::errc() && end != key.data() + key.size() && *end == '/',
                      "a state came as `", key,
                      "`, which is not the number of a parameter, `/` and "
                      "a name");
    result[number].emplace(std::string(end + 1, key.data() + key.size()), entry.value());
  }
  return result;
}

/// Refuses different values for a state of a whole group, because they come from several groups.
static void requireSame(const std::string &name, const std::vector<int64_t> &numbers,
                        const std::map<int64_t, StatesByName> &all) {
  std::optional<std::pair<int64_t, at::Tensor>> first;
  for (int64_t number : numbers) {
    auto found = all.find(number);
    if (found == all.end() || !found->second.contains(name))
      continue;
    const at::Tensor &state = found->second.at(name);
    if (!first)
      first = {number, state};
    TORCH_CHECK_VALUE(first->second.equal(state), "the state `", name,
                      "` is one for the whole group, and that of parameter ", first->first,
                      " is not that of parameter ", number,
                      "; load them into groups as they were saved from");
  }
}

void LocalOptimizer::loadStates(const c10::Dict<std::string, at::Tensor> &states,
                                const std::vector<std::string> &optional) {
  std::lock_guard guard(progress->lock);
  std::map<int64_t, StatesByName> all = byNumber(states);
  for (Bucket &bucket : buckets) {
    for (const std::string &name : bucket.states.ofGroup())
      requireSame(name, bucket.numbers, all);
    for (size_t i = 0; i < bucket.params.size(); ++i) {
      auto found = all.extract(bucket.numbers[i]);
      if (found.empty())
        continue;
      for (const std::string &name : optional)
        if (!bucket.states.has(name))
          found.mapped().erase(name);
      // A rule without states may have just a step count, which isn't one of its states.
      if (!found.mapped().empty())
        bucket.states.load(*bucket.stepper, static_cast<int64_t>(i), bucket.numbers[i],
                           params[bucket.params[i]], found.mapped());
    }
  }
  TORCH_CHECK_VALUE(all.empty(), "there are states of parameter ", all.begin()->first,
                    ", which this worker has not");
}
