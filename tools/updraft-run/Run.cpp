//===- Run.cpp - Applies a rule to the parameters of a file -----------------------------------===//

#include "Run.h"

#include "Batch.h"
#include "runtime/base/DType.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <string>

using namespace updraft::run;
using namespace updraft::runtime;

/// Groups parameters with gradients first. A parameter without a gradient fits any group, so it
/// must not split groups.
static void fill(std::list<Batch> &batches, Parameters &parameters) {
  for (const bool withGradients : {true, false}) {
    uint64_t number = 0;
    for (auto &[name, parameter] : parameters) {
      const uint64_t mine = number++;
      if (parameter.grad.has_value() != withGradients)
        continue;
      auto fits = [&](Batch &batch) { return batch.add(name, parameter, mine); };
      if (std::none_of(batches.begin(), batches.end(), fits))
        batches.emplace_back().add(name, parameter, mine);
    }
  }
}

/// Refuses several batches for a rule that reduces over a group or counts it, because the result
/// would differ.
static Status checkTogether(const std::list<Batch> &batches) {
  if (batches.size() < 2 || !std::next(batches.begin())->hasGradients())
    return {};
  const auto found = std::find_if(batches.begin(), batches.end(), std::mem_fn(&Batch::isByGroup));
  if (found == batches.end())
    return {};
  return Status(UPD_UNSUPPORTED,
                fmt::format("the rule `{}` depends on a whole group, but the file has parameters "
                            "of different types ({}); store them alike, or put each type into "
                            "its own file",
                            found->interface().name,
                            batches.front().differenceFrom(*std::next(batches.begin()))));
}

/// A file has a single code for all states with the same name.
static Status checkCodes(const std::list<Batch> &batches) {
  std::map<std::string, upd_dtype> codes;
  for (const Batch &batch : batches)
    for (const StateInterface &state : batch.interface().states) {
      if (!isBlocked(state.dtype) || !batch.writesStates())
        continue;
      const upd_dtype other = codes.try_emplace(state.name, state.dtype).first->second;
      if (other != state.dtype)
        return invalidArgument(fmt::format(
            "state `{0}` would be {1} for some parameters and {2} for others, but a file has only "
            "one type per state; choose with `--storage {0}={1}`",
            state.name, nameOf(other), nameOf(state.dtype)));
    }
  return {};
}

/// Refuses states of another rule, even if some of their names match.
static Status checkRule(const RunOptions &options, const FileContents &contents,
                        const std::string &rule) {
  if (contents.rule.empty() || contents.rule == rule)
    return {};
  return invalidArgument(
      fmt::format("`{}` is of rule `{}`, not `{}`", options.input, contents.rule, rule));
}

/// Refuses a file for probes if no rule has any.
static Status checkProbes(const RunOptions &options, const std::list<Batch> &batches) {
  if (options.probeOutput.empty() || !batches.front().interface().probes.empty())
    return {};
  return invalidArgument(fmt::format("rule `{}` has no probes for `--probe-out`; give some with "
                                     "`--probe`, such as `--probe update_ratio`",
                                     batches.front().interface().name));
}

Status updraft::run::run(const RunOptions &options, FileContents &contents, ProbeTable &table) {
  Parameters &parameters = contents.parameters;
  for (const auto &[name, parameter] : parameters)
    if (Status status = checkRequest(options.storage, name, parameter); !status.ok())
      return status;
  std::list<Batch> batches;
  fill(batches, parameters);
  for (Batch &batch : batches)
    if (Status status = batch.compile(options); !status.ok())
      return status;
  const std::string &rule = batches.front().interface().name;
  if (Status status = checkRule(options, contents, rule); !status.ok())
    return status;
  if (Status status = checkProbes(options, batches); !status.ok())
    return status;
  if (Status status = checkTogether(batches); !status.ok())
    return status;
  if (Status status = checkCodes(batches); !status.ok())
    return status;
  for (Batch &batch : batches)
    if (Status status = batch.prepare(contents.seed); !status.ok())
      return status;
  for (int64_t step = 0; step < options.steps; ++step)
    for (Batch &batch : batches) {
      if (Status status = batch.step(); !status.ok())
        return status;
      if (Status status = batch.addProbes(table); !status.ok())
        return status;
    }
  for (Batch &batch : batches)
    if (Status status = batch.collect(); !status.ok())
      return status;
  contents.rule = rule;
  return {};
}
