//===- OptimizerLoad.cpp - Loading the state of an optimizer ----------------------------------===//
// Loading reads the whole file before it changes anything. It reads new states on the CPU into the
// memory that the optimizer keeps, and all other states into temporary memory.

#include "runtime/base/Alignment.h"
#include "runtime/base/DType.h"
#include "runtime/base/MessageText.h"
#include "runtime/base/OptimizerFileNames.h"
#include "runtime/base/Safetensors.h"
#include "runtime/optimizer/Optimizer.h"
#include "runtime/optimizer/RowMajorRuns.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <unordered_map>

using namespace updraft::runtime;

static constexpr size_t bufferBytes = 1 << 16;

/// The content of a file, ready to be committed.
struct Optimizer::Loaded {
  explicit Loaded(std::shared_ptr<const Kernels> kernels) : hypers(std::move(kernels)) {}

  SafetensorsFile file;
  GroupHypers hypers;
  uint64_t seed = 0;
  std::vector<int64_t> steps;                    // by parameter
  std::vector<const SafetensorsEntry *> entries; // by slot; null: not in the file
  std::vector<const SafetensorsEntry *> scales;  // likewise, for states in blocks
  StateArena kept;                               // the optimizer's memory for new states
  StateArena aside;                              // temporary memory of the host
  std::vector<char *> memory;                    // by slot: the content of a state, in one of these
  std::vector<void *> final;                     // by slot: the memory to which it is copied
};

static Status refuse(const SafetensorsFile &file, const std::string &what) {
  return invalidArgument(fmt::format("`{}` does not fit the optimizer: {}", file.path(), what));
}

/// Whether the file has states or, if it was saved without states, metadata of an optimizer.
/// Loading another file, such as a model's weights, would remove all states.
static bool isOfOptimizer(const SafetensorsFile &file) {
  const auto &tensors = file.tensors();
  const auto &metadata = file.metadata();
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const auto &entry) { return entry.name.starts_with(statePrefix); }) ||
         std::any_of(metadata.begin(), metadata.end(),
                     [](const auto &entry) { return entry.first.starts_with("updraft."); });
}

/// Reads a step count from a scalar.
static Status readStep(const SafetensorsFile &file, const SafetensorsEntry &entry, int64_t &step) {
  double value = -1;
  if (entry.end - entry.begin == sizeOf(entry.type)) {
    char element[8];
    if (Status status = file.read(entry, 0, element, sizeOf(entry.type)); !status.ok())
      return status;
    if (entry.type == SafetensorsType::F32) {
      float number;
      std::memcpy(&number, element, sizeof(number));
      value = number;
    } else if (entry.type == SafetensorsType::F64) {
      std::memcpy(&value, element, sizeof(value));
    } else if (entry.type == SafetensorsType::I64) {
      int64_t number;
      std::memcpy(&number, element, sizeof(number));
      value = number >= 0 && number <= maxStep ? static_cast<double>(number) : -1;
    }
  }
  if (!(value >= 0 && value <= static_cast<double>(maxStep)) || value != std::floor(value))
    return refuse(file, fmt::format("`{}` is not a step count; expected a whole number from 0 to "
                                    "2^53, as one F32, F64 or I64",
                                    entry.name));
  step = static_cast<int64_t>(value);
  return {};
}

/// Reads the seed from the metadata, if present.
static Status readSeed(const SafetensorsFile &file, uint64_t &seed) {
  auto found = file.metadata().find(std::string(seedKey));
  if (found == file.metadata().end())
    return {};
  const std::optional<uint64_t> value = parseSeed(found->second);
  if (!value)
    return refuse(file, fmt::format("expected a seed from 0 to 2^64 - 1, got `{}`", found->second));
  seed = *value;
  return {};
}

/// Refuses different values for two parameters, if their group shares the state.
static Status checkSame(const SafetensorsFile &file, const SafetensorsEntry &a,
                        const SafetensorsEntry &b) {
  char values[2][8];
  const size_t bytes = sizeOf(a.type);
  if (Status status = file.read(a, 0, values[0], bytes); !status.ok())
    return status;
  if (Status status = file.read(b, 0, values[1], bytes); !status.ok())
    return status;
  if (std::memcmp(values[0], values[1], bytes) == 0)
    return {};
  return refuse(
      file, fmt::format("`{}` and `{}` differ, but they are one state of a group", a.name, b.name));
}

/// Sets `result` to the hyperparameters of `current`, overwritten by those in the metadata.
static Status readHypers(const SafetensorsFile &file, const RuleInterface &interface,
                         const GroupHypers &current, GroupHypers &result) {
  const std::vector<std::string> &names = current.hyperNames();
  const std::map<std::string, std::string> &metadata = file.metadata();
  if (auto rule = metadata.find(std::string(ruleKey));
      rule != metadata.end() && rule->second != interface.name)
    return refuse(file, fmt::format("it is of rule `{}`, not `{}`", rule->second, interface.name));

  struct Entry {
    size_t group;
    std::string name, text;
  };
  std::vector<Entry> entries;
  size_t groups = 0;
  for (const auto &[key, text] : metadata) {
    if (key.compare(0, groupKey.size(), groupKey) != 0)
      continue;
    const char *begin = key.data() + groupKey.size(), *end = key.data() + key.size();
    size_t group = 0;
    auto [rest, error] = std::from_chars(begin, end, group);
    if (error != std::errc() || group == SIZE_MAX || rest == end || *rest != '.')
      return refuse(file, fmt::format("its metadata has the unknown entry `{}`", key));
    entries.push_back({group, std::string(rest + 1, end), text});
    groups = std::max(groups, group + 1);
  }
  // A file without hyperparameters has no number of groups, and leaves them unchanged.
  if (!entries.empty() && groups != current.groupCount())
    return refuse(file, fmt::format("it has {}, but the optimizer has {}",
                                    groups == 1 ? "1 group" : fmt::format("{} groups", groups),
                                    current.groupCount()));

  std::vector<double> values(current.of(0), current.of(0) + current.groupCount() * names.size());
  for (const auto &[group, name, text] : entries) {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return refuse(file, fmt::format("it has hyperparameter `{}`, which rule `{}` has not", name,
                                      interface.name));
    double value;
    auto [valueEnd, valueError] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (valueError != std::errc() || valueEnd != text.data() + text.size())
      return refuse(file,
                    fmt::format("expected a number for hyperparameter `{}` of group {}, got `{}`",
                                name, group, text));
    values[group * names.size() + static_cast<size_t>(found - names.begin())] = value;
  }
  if (current.ignoresRequirements())
    result.ignoreRequirements();
  for (size_t i = 0; i < current.groupCount(); ++i) {
    std::vector<upd_hyper> group;
    group.reserve(names.size());
    for (size_t j = 0; j < names.size(); ++j)
      group.push_back({names[j].c_str(), values[i * names.size() + j]});
    if (Status status = result.addGroup(group.data(), group.size()); !status.ok())
      return refuse(file, status.message());
  }
  return {};
}

static Status readRowMajor(const SafetensorsFile &file, const SafetensorsEntry &entry, char *data,
                           const TensorLayout &layout) {
  const size_t elementBytes = sizeOf(entry.type);
  uint64_t offset = 0;
  std::vector<char> buffer;
  for (RowMajorRuns runs(layout); !runs.atEnd(); runs.next()) {
    const auto length = static_cast<size_t>(runs.length());
    char *start = data + runs.start() * static_cast<int64_t>(elementBytes);
    if (runs.stride() == 1) {
      if (Status status = file.read(entry, offset, start, length * elementBytes); !status.ok())
        return status;
      offset += length * elementBytes;
      continue;
    }
    buffer.resize(bufferBytes);
    for (size_t done = 0; done < length;) {
      const size_t count = std::min(length - done, bufferBytes / elementBytes);
      if (Status status = file.read(entry, offset, buffer.data(), count * elementBytes);
          !status.ok())
        return status;
      const auto step = static_cast<size_t>(runs.stride()) * elementBytes;
      for (size_t i = 0; i < count; ++i)
        std::memcpy(start + (done + i) * step, buffer.data() + i * elementBytes, elementBytes);
      done += count;
      offset += count * elementBytes;
    }
  }
  return {};
}

static constexpr std::string_view storageHint =
    "compile it with the storage type that the state was saved with";

/// Checks the formats of states in blocks, which only the metadata contains.
Status Optimizer::checkStorage(const SafetensorsFile &file) const {
  for (const StateInterface &state : interface().states) {
    auto found = file.metadata().find(fmt::format("{}{}", storageKey, state.name));
    if (found != file.metadata().end() && found->second != nameOf(state.dtype))
      return refuse(file, fmt::format("its state `{}` is stored as `{}`, but the rule is compiled "
                                      "for {}; {}",
                                      state.name, found->second, nameOf(state.dtype), storageHint));
  }
  return {};
}

Status Optimizer::collect(Loaded &loaded, bool needsFormats) {
  const SafetensorsFile &file = loaded.file;
  if (!isOfOptimizer(file))
    return refuse(file, "it has neither states nor metadata of one; give a file that an optimizer "
                        "has saved");
  if (Status status = readHypers(file, interface(), hypers, loaded.hypers); !status.ok())
    return status;

  loaded.seed = seed;
  if (Status status = readSeed(file, loaded.seed); !status.ok())
    return status;

  std::unordered_map<std::string_view, size_t> paramOf;
  for (size_t i = 0; i < params.size(); ++i)
    paramOf.emplace(names[i], i);
  loaded.steps.assign(params.size(), 0);
  loaded.entries.assign(params.size() * stateCount(), nullptr);
  loaded.scales.assign(params.size() * stateCount(), nullptr);
  if (Status status = checkStorage(file); !status.ok())
    return status;
  std::vector<bool> hasStep(params.size());
  for (const SafetensorsEntry &entry : file.tensors()) {
    std::string_view name = entry.name;
    if (name.substr(0, statePrefix.size()) != statePrefix)
      continue; // parameters and gradients may be in the same file
    name.remove_prefix(statePrefix.size());
    const size_t slash = name.rfind('/');
    if (slash == std::string_view::npos)
      return refuse(file, fmt::format("`{}` is not of the form `state/NAME/STATE`", entry.name));
    const std::string_view paramName = name.substr(0, slash), stateName = name.substr(slash + 1);
    auto param = paramOf.find(paramName);
    if (param == paramOf.end())
      return refuse(file, fmt::format("it has parameter `{}`, which the optimizer has not{}",
                                      paramName, nameHint(paramName, names)));
    const std::vector<StateInterface> &states = interface().states;
    auto state = std::find_if(states.begin(), states.end(), [&](const StateInterface &candidate) {
      return candidate.name == stateName;
    });
    if (state == states.end() && stateName == stepName) {
      hasStep[param->second] = true;
      if (Status status = readStep(file, entry, loaded.steps[param->second]); !status.ok())
        return status;
      continue;
    }
    if (size_t index; findScales(stateName, index) && isOf(param->second, index)) {
      const TensorLayout &layout = scaleLayouts[param->second];
      if (entry.type != SafetensorsType::F32)
        return refuse(
            file, fmt::format("`{}` is {}, but scales are F32", entry.name, nameOf(entry.type)));
      if (!std::equal(entry.shape.begin(), entry.shape.end(), layout.shape,
                      layout.shape + layout.rank))
        return refuse(file, fmt::format("`{}` has another shape than the scales of its parameter",
                                        entry.name));
      loaded.scales[slotOf(param->second, index)] = &entry;
      continue;
    }
    if (state == states.end())
      return refuse(file,
                    fmt::format("unknown state `{}` for rule `{}`", entry.name, interface().name));
    if (entry.type != safetensorsType(state->dtype))
      return refuse(file,
                    fmt::format("`{}` is {}, but the rule is compiled for {}; {}", entry.name,
                                nameOf(entry.type),
                                isBlocked(state->dtype) ? nameOf(state->dtype)
                                                        : nameOf(safetensorsType(state->dtype)),
                                storageHint));
    // The codes don't tell their format.
    if (const std::string key = fmt::format("{}{}", storageKey, stateName);
        needsFormats && isBlocked(state->dtype) && !file.metadata().contains(key))
      return refuse(file, fmt::format("`{}` is in codes, but the metadata `{}` is missing, which "
                                      "names their format; keep the metadata of the file",
                                      entry.name, key));
    const auto index = static_cast<size_t>(state - states.begin());
    if (Status status = checkOf(param->second, index); !status.ok())
      return refuse(file, status.message());
    const TensorLayout layout = layoutOf(param->second, index);
    if (!std::equal(entry.shape.begin(), entry.shape.end(), layout.shape,
                    layout.shape + layout.rank))
      return refuse(file, fmt::format("`{}` has another shape than its {}", entry.name,
                                      state->over == Extent::Element ? "parameter" : "state"));
    const SafetensorsEntry *&known = loaded.entries[slotOf(param->second, index)];
    if (known) // another parameter of the group has it too
      if (Status status = checkSame(file, *known, entry); !status.ok())
        return status;
    known = &entry;
  }
  for (size_t i = 0; i < params.size(); ++i) {
    size_t present = 0;
    for (size_t j = 0; j < stateCount(); ++j)
      present += isOwn(i, j) && loaded.entries[slotOf(i, j)];
    for (size_t j = 0; j < stateCount(); ++j) {
      if (present != 0 && isOwn(i, j) && !loaded.entries[slotOf(i, j)])
        return refuse(file, fmt::format("parameter `{}` lacks state `{}`", names[i],
                                        interface().states[j].name));
      const bool hasCodes = loaded.entries[slotOf(i, j)];
      if (isBlocked(interface().states[j].dtype) && isOwn(i, j) &&
          hasCodes != !!loaded.scales[slotOf(i, j)])
        return refuse(file, fmt::format("parameter `{}` lacks the {} of state `{}`", names[i],
                                        hasCodes ? "scales" : "codes", interface().states[j].name));
    }
    if (present != 0 && !hasStep[i])
      return refuse(file, fmt::format("parameter `{}` lacks its step count", names[i]));
  }

  // New states need memory to keep. All but new states on the CPU also need temporary memory.
  auto isNew = [&](size_t slot) { return stateOrigins[slot] == StateOrigin::None; };
  size_t keptBytes = 0, asideBytes = 0;
  for (size_t i = 0; i < params.size(); ++i)
    for (size_t j = 0; j < stateCount(); ++j) {
      const size_t slot = slotOf(i, j);
      if (!holds(i, j) || !loaded.entries[slot])
        continue;
      const size_t bytes = alignedSize(stateBytes(i, j));
      keptBytes += isNew(slot) ? bytes : 0;
      asideBytes += isNew(slot) && device.isCpu() ? 0 : bytes;
    }
  loaded.aside = StateArena::allocate(asideBytes);
  if (asideBytes != 0 && !loaded.aside.data())
    return {UPD_OUT_OF_MEMORY, fmt::format("no memory for {} bytes of states", asideBytes)};
  if (Status status = allocateArena(keptBytes, loaded.kept); !status.ok())
    return status;
  loaded.memory.assign(loaded.entries.size(), nullptr);
  loaded.final.assign(loaded.entries.size(), nullptr);
  char *kept = loaded.kept.data(), *aside = loaded.aside.data();
  for (size_t i = 0; i < params.size(); ++i)
    for (size_t j = 0; j < stateCount(); ++j) {
      const size_t slot = slotOf(i, j);
      if (!holds(i, j) || !loaded.entries[slot] || stateBytes(i, j) == 0)
        continue;
      loaded.final[slot] = isNew(slot) ? kept : statePointers[slot];
      char *&memory = isNew(slot) && device.isCpu() ? kept : aside;
      loaded.memory[slot] = memory;
      if (Status status = readRowMajor(file, *loaded.entries[slot], memory, layoutOf(i, j));
          !status.ok())
        return status;
      if (const SafetensorsEntry *scales = loaded.scales[slot]) {
        const QuantBlocks blocks = blocksOf(i);
        if (Status status = file.read(*scales, 0, memory + blocks.scalesOffset(),
                                      blocks.bytes() - blocks.scalesOffset());
            !status.ok())
          return status;
      }
      memory += alignedSize(stateBytes(i, j));
      if (isNew(slot) && !device.isCpu())
        kept += alignedSize(stateBytes(i, j));
    }
  return {};
}

/// Copies states from temporary memory: new ones if `areNew`, else existing ones.
Status Optimizer::writeLoaded(const Loaded &loaded, bool areNew) {
  for (size_t i = 0; i < params.size(); ++i)
    for (size_t j = 0; j < stateCount(); ++j) {
      const size_t slot = slotOf(i, j);
      if (!holds(i, j) || loaded.memory[slot] == loaded.final[slot] ||
          (stateOrigins[slot] == StateOrigin::None) != areNew)
        continue;
      if (Status status = writeMemory(loaded.final[slot], loaded.memory[slot], stateBytes(i, j));
          !status.ok())
        return status;
    }
  return {};
}

/// Fails only if a device does. Then the states that were overwritten are lost.
Status Optimizer::commit(Loaded &loaded) {
  if (Status status = writeLoaded(loaded, /*areNew=*/false); !status.ok())
    return status;
  for (size_t i = 0; i < params.size(); ++i)
    for (size_t j = 0; j < stateCount(); ++j) {
      if (!holds(i, j))
        continue;
      const size_t slot = slotOf(i, j);
      if (!loaded.entries[slot]) {
        if (stateOrigins[slot] == StateOrigin::Bound) {
          owned.erase(static_cast<uint32_t>(i), static_cast<uint32_t>(j));
          --boundStates;
        }
        statePointers[slot] = nullptr;
        stateOrigins[slot] = StateOrigin::None;
      } else if (stateOrigins[slot] == StateOrigin::None) {
        statePointers[slot] = loaded.final[slot];
        stateOrigins[slot] = StateOrigin::Own;
      }
    }
  keepArena(std::move(loaded.kept));
  hypers.swap(loaded.hypers);
  hyperSources.clear();
  seed = loaded.seed;
  gradsChecked = false;
  discardPlan();
  return replaceSteps(std::move(loaded.steps));
}

Status Optimizer::load(const std::string &path) {
  SafetensorsFile file;
  if (Status status = SafetensorsFile::open(path, file); !status.ok())
    return status;
  return load(std::move(file));
}

Status Optimizer::load(SafetensorsFile file, bool needsFormats) {
  Loaded loaded(kernels);
  loaded.file = std::move(file);
  // Reports errors of earlier steps before anything is overwritten.
  if (Status status = waitForSteps(); !status.ok())
    return status;
  if (Status status = settleStates(); !status.ok())
    return status;
  if (Status status = collect(loaded, needsFormats); !status.ok())
    return status;
  if (Status status = writeLoaded(loaded, /*areNew=*/true); !status.ok())
    return status;
  std::string half = loaded.file.path();
  if (Status status = commit(loaded); !status.ok()) {
    halfLoaded.swap(half);
    prepared = Prepared::Nothing;
    return {status.code(),
            fmt::format("{}; states are those of `{}` in part, so load it again, or another file",
                        status.message(), halfLoaded)};
  }
  halfLoaded.clear();
  return {};
}

Status Optimizer::checkWhole() const {
  if (halfLoaded.empty())
    return {};
  return invalidArgument(fmt::format("a load of `{}` has failed half-way, so states are those of "
                                     "the file in part only; load it again, or another file",
                                     halfLoaded));
}
