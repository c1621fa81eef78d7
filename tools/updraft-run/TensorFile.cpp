//===- TensorFile.cpp - The tensors of a run by parameter -------------------------------------===//

#include "TensorFile.h"

#include "runtime/base/DType.h"
#include "runtime/base/OptimizerFileNames.h"
#include "runtime/base/Safetensors.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string_view>

using namespace updraft::run;
using namespace updraft::runtime;

namespace {
/// A parsed tensor name. Names of parameters may contain slashes, names of states can't.
struct Role {
  enum Kind { Param, Grad, State } kind;
  std::string parameter;
  std::string state; // for State
};

std::optional<Role> roleOf(std::string_view name) {
  auto rest = [&](std::string_view prefix) -> std::optional<std::string> {
    if (name.size() <= prefix.size() || !name.starts_with(prefix))
      return std::nullopt;
    return std::string(name.substr(prefix.size()));
  };
  if (auto parameter = rest("param/"))
    return Role{Role::Param, *parameter, ""};
  if (auto parameter = rest("grad/"))
    return Role{Role::Grad, *parameter, ""};
  if (auto path = rest("state/")) {
    size_t slash = path->rfind('/');
    if (slash != std::string::npos && slash > 0 && slash + 1 < path->size())
      return Role{Role::State, path->substr(0, slash), path->substr(slash + 1)};
  }
  return std::nullopt;
}

Status readElements(const SafetensorsFile &file, const SafetensorsEntry &entry, upd_dtype dtype,
                    Tensor &tensor) {
  tensor.dtype = dtype;
  tensor.shape = entry.shape;
  tensor.bytes.resize(entry.end - entry.begin);
  return file.read(entry, 0, tensor.bytes.data(), tensor.bytes.size());
}

Status readTensor(const SafetensorsFile &file, const SafetensorsEntry &entry, Role::Kind kind,
                  Tensor &tensor) {
  auto dtype = dtypeOf(entry.type);
  if (!dtype || (dtype == UPD_I8 && kind != Role::State))
    return invalidArgument(
        fmt::format("`{}` in `{}` is {}; the types are F32, F64, BF16, F16{}", entry.name,
                    file.path(), nameOf(entry.type),
                    kind == Role::State ? ", I8 for corrections, and U8 for codes of blocks" : ""));
  return readElements(file, entry, *dtype, tensor);
}

Status readCodes(const SafetensorsFile &file, const SafetensorsEntry &entry,
                 const std::string &state, Tensor &tensor) {
  const std::string key = fmt::format("{}{}", storageKey, state);
  const auto found = file.metadata().find(key);
  for (upd_dtype dtype : {UPD_Q8_LINEAR, UPD_Q8_COMPANDED})
    if (found != file.metadata().end() && found->second == nameOf(dtype))
      return readElements(file, entry, dtype, tensor);
  return invalidArgument(fmt::format(
      "`{}` in `{}` is U8, which is for the codes of a state in blocks, but the "
      "metadata `{}` {}; it is `{}` or `{}`",
      entry.name, file.path(), key,
      found == file.metadata().end() ? "is missing" : fmt::format("is `{}`", found->second),
      nameOf(UPD_Q8_LINEAR), nameOf(UPD_Q8_COMPANDED)));
}

Status readScales(const SafetensorsFile &file, const SafetensorsEntry &entry, Tensor &tensor) {
  if (entry.type != SafetensorsType::F32)
    return invalidArgument(fmt::format("`{}` in `{}` is {}, but scales are F32", entry.name,
                                       file.path(), nameOf(entry.type)));
  return readElements(file, entry, UPD_F32, tensor);
}

/// Reads a step count: a whole number in a scalar of type F32 (as PyTorch writes it), F64 or I64.
Status readStep(const SafetensorsFile &file, const SafetensorsEntry &entry, int64_t &step) {
  auto refuse = [&] {
    return invalidArgument(fmt::format("`{}` in `{}` is not a step count; it must be a scalar of "
                                       "type F32, F64 or I64 that is a whole number, at least 0",
                                       entry.name, file.path()));
  };
  char bytes[8] = {};
  if (!entry.shape.empty() || entry.end - entry.begin > sizeof(bytes))
    return refuse();
  if (Status status = file.read(entry, 0, bytes, entry.end - entry.begin); !status.ok())
    return status;
  double value = -1;
  if (entry.type == SafetensorsType::F32) {
    float single;
    std::memcpy(&single, bytes, sizeof(single));
    value = single;
  } else if (entry.type == SafetensorsType::F64) {
    std::memcpy(&value, bytes, sizeof(value));
  } else if (entry.type == SafetensorsType::I64) {
    std::memcpy(&step, bytes, sizeof(step));
    return step < 0 ? refuse() : Status();
  }
  if (!(value >= 0 && value <= 0x1p53 && value == std::floor(value)))
    return refuse();
  step = static_cast<int64_t>(value);
  return {};
}

Status addTensor(const SafetensorsFile &file, const SafetensorsEntry &entry, Parameters &result) {
  auto role = roleOf(entry.name);
  if (!role)
    return invalidArgument(fmt::format("unknown tensor `{}` in `{}`; the names are param/NAME, "
                                       "grad/NAME, state/NAME/STATE and state/NAME/step",
                                       entry.name, file.path()));
  Parameter &parameter = result[role->parameter];
  switch (role->kind) {
  case Role::Param:
    return readTensor(file, entry, role->kind, parameter.param);
  case Role::Grad:
    return readTensor(file, entry, role->kind, parameter.grad.emplace());
  case Role::State:
    if (role->state == stepName) {
      parameter.hasStep = true;
      return readStep(file, entry, parameter.step);
    }
    if (std::string_view name = role->state; name.ends_with(scaleSuffix)) {
      name.remove_suffix(scaleSuffix.size());
      return readScales(file, entry, parameter.scales[std::string(name)]);
    }
    if (entry.type == SafetensorsType::U8)
      return readCodes(file, entry, role->state, parameter.states[role->state]);
    return readTensor(file, entry, role->kind, parameter.states[role->state]);
  }
  return {};
}

/// A state of bytes must be the correction of a BF16 tensor.
Status checkCorrections(const std::string &path, const std::string &name,
                        const Parameter &parameter) {
  for (const auto &[state, tensor] : parameter.states)
    if (tensor.dtype == UPD_I8 && !parameter.correctedBy(state))
      return invalidArgument(fmt::format(
          "`state/{}/{}` in `{}` is I8, which is for the corrections of BF16 tensors, but there is "
          "none that it corrects; they are called state/NAME/STATE_correction and "
          "state/NAME/param_correction",
          name, state, path));
  return {};
}

/// A state needs both its codes and its scales.
Status checkScales(const std::string &path, const std::string &name, const Parameter &parameter) {
  for (const auto &[state, tensor] : parameter.states)
    if (isBlocked(tensor.dtype) && !parameter.scales.contains(state))
      return invalidArgument(fmt::format("`{}` has the codes `state/{}/{}`, but not their scales, "
                                         "`state/{}/{}{}`",
                                         path, name, state, name, state, scaleSuffix));
  for (const auto &[state, tensor] : parameter.scales)
    if (const auto codes = parameter.states.find(state);
        codes == parameter.states.end() || !isBlocked(codes->second.dtype))
      return invalidArgument(fmt::format("`{}` has the scales `state/{}/{}{}`, but not their "
                                         "codes, `state/{}/{}` of type U8",
                                         path, name, state, scaleSuffix, name, state));
  return {};
}

Status readMetadata(const SafetensorsFile &file, FileContents &result) {
  const auto &metadata = file.metadata();
  if (const auto rule = metadata.find(std::string(ruleKey)); rule != metadata.end())
    result.rule = rule->second;
  const auto seed = metadata.find(std::string(seedKey));
  if (seed == metadata.end())
    return {};
  result.seed = parseSeed(seed->second);
  if (result.seed)
    return {};
  return invalidArgument(
      fmt::format("the metadata `{}` of `{}` must be a number from 0 to 2^64 - 1, "
                  "got `{}`",
                  seedKey, file.path(), seed->second));
}

SafetensorsWriter::Source sourceOf(const std::vector<char> &bytes) {
  return [&bytes](SafetensorsSink &sink) { return sink.write(bytes.data(), bytes.size()); };
}

/// Writes the type that PyTorch uses, if it is exact.
void addStep(SafetensorsWriter &writer, std::string name, int64_t step) {
  bool fits = step <= (int64_t{1} << 24);
  auto source = [=](SafetensorsSink &sink) {
    float single = static_cast<float>(step);
    return fits ? sink.write(&single, sizeof(single)) : sink.write(&step, sizeof(step));
  };
  writer.add(std::move(name), fits ? SafetensorsType::F32 : SafetensorsType::I64, {}, source);
}
} // namespace

void Tensor::take(const upd_tensor &view) {
  dtype = view.dtype;
  shape.assign(view.shape, view.shape + view.rank);
  size_t elements = 1;
  for (int64_t size : shape)
    elements *= static_cast<size_t>(size);
  const bool isOwn = view.data == bytes.data() && !bytes.empty();
  bytes.resize(elements * sizeOf(dtype));
  if (!isOwn && !bytes.empty())
    std::memcpy(bytes.data(), view.data, bytes.size());
}

std::optional<std::string> Parameter::correctedBy(const std::string &state) const {
  constexpr std::string_view suffix = "_correction";
  if (!state.ends_with(suffix))
    return std::nullopt;
  std::string name = state.substr(0, state.size() - suffix.size());
  const auto found = states.find(name);
  const Tensor *corrected = name == "param"         ? &param
                            : found != states.end() ? &found->second
                                                    : nullptr;
  if (!corrected || corrected->dtype != UPD_BF16)
    return std::nullopt;
  return name;
}

Status updraft::run::readContents(const std::string &path, FileContents &contents) {
  SafetensorsFile file;
  if (Status status = SafetensorsFile::open(path, file); !status.ok())
    return status;
  if (Status status = readMetadata(file, contents); !status.ok())
    return status;
  Parameters &result = contents.parameters;
  for (const SafetensorsEntry &entry : file.tensors())
    if (Status status = addTensor(file, entry, result); !status.ok())
      return status;
  for (const auto &[name, parameter] : result)
    if (!file.find("param/" + name))
      return invalidArgument(fmt::format(
          "`{}` has a gradient or a state for `{}`, but no `param/{}`", path, name, name));
  for (const auto &[name, parameter] : result)
    for (auto check : {checkCorrections, checkScales})
      if (Status status = check(path, name, parameter); !status.ok())
        return status;
  if (result.empty())
    return invalidArgument(fmt::format("`{}` has no tensor; give param/NAME and grad/NAME", path));
  return {};
}

Status updraft::run::writeContents(const std::string &path, const FileContents &contents) {
  SafetensorsWriter writer;
  writer.setMetadata(std::string(ruleKey), contents.rule);
  if (contents.seed)
    writer.setMetadata(std::string(seedKey), std::to_string(*contents.seed));
  for (const auto &[name, parameter] : contents.parameters) {
    writer.add("param/" + name, safetensorsType(parameter.param.dtype), parameter.param.shape,
               sourceOf(parameter.param.bytes));
    for (const auto &[state, tensor] : parameter.states) {
      writer.add("state/" + name + "/" + state, safetensorsType(tensor.dtype), tensor.shape,
                 sourceOf(tensor.bytes));
      if (isBlocked(tensor.dtype))
        writer.setMetadata(fmt::format("{}{}", storageKey, state),
                           std::string(nameOf(tensor.dtype)));
    }
    for (const auto &[state, tensor] : parameter.scales)
      writer.add(fmt::format("state/{}/{}{}", name, state, scaleSuffix),
                 safetensorsType(tensor.dtype), tensor.shape, sourceOf(tensor.bytes));
    if (parameter.step > 0 || parameter.hasStep)
      addStep(writer, "state/" + name + "/step", parameter.step);
  }
  return writer.save(path);
}
