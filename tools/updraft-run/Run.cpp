//===- Run.cpp - Applying a rule to the parameters of a file ----------------------------------===//

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

/// Those with gradients are first to be put together: one without does not keep them apart.
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

/// What a rule reduces over a group, or counts of it, would be something else for each of several.
static Status checkTogether(const std::list<Batch> &batches) {
  if (batches.size() < 2 || !std::next(batches.begin())->hasGradients())
    return {};
  const auto found = std::find_if(batches.begin(), batches.end(), std::mem_fn(&Batch::isByGroup));
  if (found == batches.end())
    return {};
  return Status(UPD_UNSUPPORTED,
                fmt::format("the rule `{}` depends on a whole group, and the file has parameters "
                            "that are stepped apart ({}); store them alike, or give each kind a "
                            "file of its own",
                            found->interface().name,
                            batches.front().differenceFrom(*std::next(batches.begin()))));
}

/// A file has one code for all states of a name.
static Status checkCodes(const std::list<Batch> &batches) {
  std::map<std::string, upd_dtype> codes;
  for (const Batch &batch : batches)
    for (const StateInterface &state : batch.interface().states) {
      if (!isBlocked(state.dtype) || !batch.writesStates())
        continue;
      const upd_dtype other = codes.try_emplace(state.name, state.dtype).first->second;
      if (other != state.dtype)
        return invalidArgument(fmt::format(
            "state `{0}` would be {1} for some parameters and {2} for others, but a file has one "
            "of them; choose with `--storage {0}={1}`",
            state.name, nameOf(other), nameOf(state.dtype)));
    }
  return {};
}

/// States are of the rule that made them, even where another has some of the same names.
static Status checkRule(const RunOptions &options, const FileContents &contents,
                        const std::string &rule) {
  if (contents.rule.empty() || contents.rule == rule)
    return {};
  return invalidArgument(
      fmt::format("`{}` is of rule `{}`, not `{}`", options.input, contents.rule, rule));
}

Status updraft::run::run(const RunOptions &options, FileContents &contents) {
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
  if (Status status = checkTogether(batches); !status.ok())
    return status;
  if (Status status = checkCodes(batches); !status.ok())
    return status;
  for (Batch &batch : batches)
    if (Status status = batch.prepare(contents.seed); !status.ok())
      return status;
  for (int64_t step = 0; step < options.steps; ++step)
    for (Batch &batch : batches)
      if (Status status = batch.step(); !status.ok())
        return status;
  for (Batch &batch : batches)
    if (Status status = batch.collect(); !status.ok())
      return status;
  contents.rule = rule;
  return {};
}
