//===- updraft/torch/Archive.h - An optimizer in an archive of torch ----------------*- C++ -*-===//
// An archive contains
//   format        the text "updraft 1"
//   rule          the rule's name
//   seed          of random numbers
//   param_groups  size and, by index, `params` (their number) and `hypers`
//   state         by index of a parameter that has stepped: `step`, and the states by name;
//                 `NAME/type` and `NAME/scale` for the storage type and the scales of a state
//                 in blocks

#ifndef UPDRAFT_TORCH_ARCHIVE_H
#define UPDRAFT_TORCH_ARCHIVE_H

#include "updraft/torch/Stepper.h"

#include <torch/serialize/archive.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace updraft {
inline namespace v1 {
namespace torch {
namespace detail {

inline constexpr const char *archiveFormat = "updraft 1";
inline constexpr const char *scaleSuffix = "/scale";
inline constexpr const char *typeSuffix = "/type";

inline void writeArchive(::torch::serialize::OutputArchive &archive, const Stepper &stepper,
                         const ParamGroups &groups) {
  using ::torch::serialize::OutputArchive;
  archive.write("format", c10::IValue(archiveFormat));
  archive.write("rule", c10::IValue(std::string(stepper.compiledRule().name())));
  archive.write("seed", c10::IValue(static_cast<int64_t>(stepper.seed())));

  OutputArchive all(archive.compilation_unit());
  all.write("size", c10::IValue(static_cast<int64_t>(groups.size())));
  for (size_t i = 0; i < groups.size(); ++i) {
    OutputArchive one(archive.compilation_unit()), hypers(archive.compilation_unit());
    one.write("params", c10::IValue(static_cast<int64_t>(groups[i].params().size())));
    groups[i].options().serialize(hypers);
    one.write("hypers", hypers);
    all.write(std::to_string(i), one);
  }
  archive.write("param_groups", all);

  OutputArchive states(archive.compilation_unit());
  for (size_t i = 0; i < stepper.paramCount(); ++i) {
    const Progress progress = stepper.progress(i);
    if (progress.steps == 0 && progress.states.empty())
      continue;
    OutputArchive one(archive.compilation_unit());
    one.write("step", c10::IValue(progress.steps));
    for (const State &state : progress.states) {
      one.write(state.name, state.values, /*is_buffer=*/true);
      if (state.format.empty())
        continue;
      one.write(state.name + typeSuffix, c10::IValue(state.format));
      one.write(state.name + scaleSuffix, state.scales, /*is_buffer=*/true);
    }
    states.write(std::to_string(i), one);
  }
  archive.write("state", states);
}

/// The contents of an archive.
struct Stored {
  std::string rule;
  uint64_t seed = 0;
  std::vector<int64_t> paramCounts; ///< by group
  std::vector<Options> options;     ///< by group
  std::vector<Progress> progress;   ///< by parameter over all groups
};

inline Progress readProgress(::torch::serialize::InputArchive &archive) {
  Progress result;
  c10::IValue steps;
  archive.read("step", steps);
  result.steps = steps.toInt();
  for (const std::string &name : archive.keys()) {
    if (name == "step" || name.find('/') != std::string::npos)
      continue;
    State state;
    state.name = name;
    archive.read(name, state.values, /*is_buffer=*/true);
    // Steps don't change the archive, which may be read again.
    state.values = state.values.clone();
    if (state.values.scalar_type() == at::kByte) {
      c10::IValue type;
      archive.read(name + typeSuffix, type);
      state.format = type.toStringRef();
      archive.try_read(name + scaleSuffix, state.scales, /*is_buffer=*/true);
    }
    result.states.push_back(std::move(state));
  }
  return result;
}

inline Stored readArchive(::torch::serialize::InputArchive &archive) {
  using ::torch::serialize::InputArchive;
  Stored result;
  c10::IValue value;
  TORCH_CHECK_VALUE(archive.try_read("format", value) && value.isString() &&
                        value.toStringRef() == archiveFormat,
                    "the archive was not written by updraft::torch::Optimizer");
  archive.read("rule", value);
  result.rule = value.toStringRef();
  archive.read("seed", value);
  result.seed = static_cast<uint64_t>(value.toInt());

  InputArchive groups, states;
  archive.read("param_groups", groups);
  archive.read("state", states);
  groups.read("size", value);
  const int64_t groupCount = value.toInt();
  for (int64_t i = 0; i < groupCount; ++i) {
    InputArchive one, hypers;
    groups.read(std::to_string(i), one);
    one.read("params", value);
    result.paramCounts.push_back(value.toInt());
    one.read("hypers", hypers);
    result.options.emplace_back().serialize(hypers);
    for (int64_t j = 0; j < result.paramCounts.back(); ++j) {
      InputArchive param;
      const bool stepped = states.try_read(std::to_string(result.progress.size()), param);
      result.progress.push_back(stepped ? readProgress(param) : Progress());
    }
  }
  return result;
}

/// Throws if a parameter has only some of its states, as when the rule that wrote the archive was
/// compiled with other static parameters.
inline void checkStates(const Stored &stored, const Rule &rule) {
  const std::vector<Rule::StateInfo> infos = rule.states();
  const auto isOwn = [](const Rule::StateInfo &info) {
    return info.tensors == UPD_ALL_TENSORS && info.extent != UPD_EXTENT_GROUP;
  };
  for (size_t i = 0; i < stored.progress.size(); ++i) {
    const std::vector<State> &states = stored.progress[i].states;
    const auto has = [&](const Rule::StateInfo &info) {
      return std::any_of(states.begin(), states.end(),
                         [&](const State &state) { return state.name == info.name; });
    };
    // A parameter that hasn't stepped may have states of its group.
    if (std::none_of(infos.begin(), infos.end(), [&](const Rule::StateInfo &info) {
          return info.extent != UPD_EXTENT_GROUP && has(info);
        }))
      continue;
    for (const Rule::StateInfo &info : infos)
      TORCH_CHECK_VALUE(!isOwn(info) || has(info), "parameter ", i,
                        " of the archive lacks the state `", info.name, "`");
  }
}

} // namespace detail
} // namespace torch
} // namespace v1
} // namespace updraft

#endif // UPDRAFT_TORCH_ARCHIVE_H
