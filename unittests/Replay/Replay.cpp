//===- Replay.cpp - Repeats recorded steps ----------------------------------------------------===//

#include "Replay.h"

#include "runtime/base/DType.h"
#include "runtime/base/ElementComparison.h"
#include "runtime/base/Safetensors.h"
#include "updraft-c/optimizer.h"
#include "updraft-c/package.h"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

using namespace updraft;
using runtime::SafetensorsEntry;
using runtime::SafetensorsFile;
using runtime::SafetensorsType;

namespace {

template <auto release> struct Release {
  void operator()(auto *handle) const { release(handle); }
};
using Package = std::unique_ptr<upd_package, Release<upd_package_release>>;
using Rule = std::unique_ptr<upd_rule, Release<upd_rule_release>>;
using Optimizer = std::unique_ptr<upd_optimizer, Release<upd_optimizer_release>>;

/// An error of the C API or of a file.
struct Failure {
  std::string text;
};

void check(upd_status status) {
  if (status != UPD_OK)
    throw Failure{upd_last_error()};
}
void check(const runtime::Status &status) {
  if (!status.ok())
    throw Failure{status.message()};
}

/// A tensor of the recording, or memory for one.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<char> memory;
  size_t offset = 0; ///< of the elements in the memory
  upd_dtype dtype = UPD_F32;

  upd_tensor view() {
    upd_tensor result = {};
    result.data = memory.data() + offset;
    result.shape = shape.data();
    result.rank = int32_t(shape.size());
    result.dtype = dtype;
    result.device = UPD_CPU;
    return result;
  }
};

class Steps {
public:
  Steps(const SafetensorsFile &file, upd_rule *rule)
      : file(file), rule(rule), description(nlohmann::json::parse(file.metadata().at("steps"))) {}

  void run();
  void compare(replay::Compared &compared);

private:
  std::string bytesOf(const SafetensorsEntry &entry) const;
  Tensor read(const SafetensorsEntry &entry, upd_dtype dtype, size_t number) const;
  void create();
  void step(int number);
  void compare(const SafetensorsEntry &entry, const upd_tensor &found,
               replay::Compared &compared) const;

  const SafetensorsFile &file;
  upd_rule *rule;
  nlohmann::json description;
  std::vector<Tensor> params, states;
  Optimizer optimizer;
};

std::string Steps::bytesOf(const SafetensorsEntry &entry) const {
  std::string bytes(entry.end - entry.begin, '\0');
  check(file.read(entry, 0, bytes.data(), bytes.size()));
  return bytes;
}

/// Tensors start at different places in a vector.
Tensor Steps::read(const SafetensorsEntry &entry, upd_dtype dtype, size_t number) const {
  const std::string bytes = bytesOf(entry);
  const size_t offset = number % 5 * sizeOf(entry.type);
  Tensor tensor{entry.shape, std::vector<char>(offset + bytes.size()), offset, dtype};
  std::copy(bytes.begin(), bytes.end(), tensor.memory.begin() + ptrdiff_t(offset));
  return tensor;
}

void Steps::create() {
  while (const SafetensorsEntry *entry = file.find(fmt::format("param/{}", params.size())))
    params.push_back(read(*entry, upd_rule_param_dtype(rule), params.size()));
  std::vector<upd_tensor> views;
  for (Tensor &param : params)
    views.push_back(param.view());
  std::vector<upd_group> groups;
  size_t first = 0;
  for (const size_t count : description.at("groups")) {
    upd_group &group = groups.emplace_back();
    group.params = views.data() + first;
    group.param_count = count;
    first += count;
  }
  upd_optimizer *created = nullptr;
  check(upd_optimizer_create(rule, groups.data(), groups.size(), nullptr, &created));
  optimizer.reset(created);
  check(upd_optimizer_set_seed(created, std::stoull(description.at("seed").get<std::string>())));
  states.reserve(description.at("states").size());
  for (const auto &state : description.at("states")) {
    const size_t param = state[0];
    const std::string name = state[1];
    const SafetensorsEntry *entry = file.find(fmt::format("state/{}/{}", param, name));
    if (!entry)
      throw Failure{"has no state " + name};
    const std::string bytes = bytesOf(*entry);
    states.push_back({state[3], {bytes.begin(), bytes.end()}, 0, upd_dtype(int(state[2]))});
    const upd_tensor view = states.back().view();
    check(upd_optimizer_bind_state(created, param, name.c_str(), &view));
  }
}

void Steps::step(int number) {
  for (const auto &change : description.at("changes"))
    if (change[0] == number)
      for (size_t group = 0; group < upd_optimizer_group_count(optimizer.get()); ++group)
        check(upd_optimizer_set_hyper(optimizer.get(), group, change[1].get<std::string>().c_str(),
                                      change[2]));
  std::vector<Tensor> grads(params.size());
  std::vector<upd_tensor> views(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    const SafetensorsEntry *entry = file.find(fmt::format("grad/{}/{}", i, number));
    views[i].rank = UPD_ABSENT;
    if (!entry)
      continue;
    grads[i] = read(*entry, upd_rule_grad_dtype(rule), i + size_t(number));
    views[i] = grads[i].view();
  }
  check(upd_optimizer_step(optimizer.get(), views.data(), views.size()));
}

void Steps::run() {
  create();
  for (int number = 1; number <= description.at("steps"); ++number)
    step(number);
}

void Steps::compare(const SafetensorsEntry &entry, const upd_tensor &found,
                    replay::Compared &compared) const {
  const std::string expected = bytesOf(entry);
  const size_t size = sizeOf(entry.type), count = expected.size() / size;
  size_t places = 1;
  for (int32_t i = 0; i < found.rank; ++i)
    places *= size_t(found.shape[i]);
  if (places != count || runtime::safetensorsType(found.dtype) != entry.type)
    throw Failure{fmt::format("{} has {} elements, expected {}", entry.name, places, count)};
  const size_t element = runtime::firstDifference(entry.type, found.data, expected.data(), count);
  if (element != count) {
    std::string text = fmt::format("element {} of {} is ", element, entry.name);
    for (const char *data : {static_cast<const char *>(found.data), expected.data()}) {
      for (size_t byte = size; byte-- > 0;)
        text += fmt::format("{:02x}", uint8_t(data[element * size + byte]));
      text += data == found.data ? ", expected " : "";
    }
    throw Failure{text};
  }
  compared.tensors += 1;
  compared.elements += count;
}

void Steps::compare(replay::Compared &compared) {
  constexpr std::string_view ofParams = "expected/param/", ofStates = "expected/state/";
  for (const SafetensorsEntry &entry : file.tensors()) {
    if (entry.name.starts_with(ofParams))
      compare(entry, params.at(std::stoul(entry.name.substr(ofParams.size()))).view(), compared);
    if (!entry.name.starts_with(ofStates))
      continue;
    const size_t slash = entry.name.find('/', ofStates.size());
    upd_tensor state;
    check(upd_optimizer_state(optimizer.get(), std::stoul(entry.name.substr(ofStates.size())),
                              entry.name.c_str() + slash + 1, &state));
    compare(entry, state, compared);
  }
}

/// Returns the targets of a package.
std::vector<std::string> targetsOf(const upd_package *package) {
  return nlohmann::json::parse(upd_package_info(package)).at("targets");
}

} // namespace

std::string replay::replay(const std::string &path, const std::string &target, Compared &compared) {
  std::string where;
  try {
    SafetensorsFile file;
    check(SafetensorsFile::open(path, file));
    where = nlohmann::json::parse(file.metadata().at("steps")).at("case");
    const SafetensorsEntry *entry = file.find("package");
    if (!entry)
      throw Failure{"has no package"};
    std::string bytes(entry->end - entry->begin, '\0');
    check(file.read(*entry, 0, bytes.data(), bytes.size()));
    upd_package *opened = nullptr;
    check(upd_package_open_buffer(bytes.data(), bytes.size(), nullptr, &opened));
    const Package package(opened);
    bool ran = false;
    for (const std::string &name :
         target.empty() ? targetsOf(opened) : std::vector<std::string>{target}) {
      upd_rule *loaded = nullptr;
      const upd_status status = upd_package_load(opened, nullptr, name.c_str(), &loaded);
      if (status == UPD_UNSUPPORTED && target.empty())
        continue;
      check(status);
      const Rule rule(loaded);
      where += " for " + name;
      check(upd_package_verify(opened, nullptr, name.c_str()));
      compared.samples += 1;
      Steps steps(file, rule.get());
      steps.run();
      steps.compare(compared);
      ran = true;
    }
    if (!ran)
      throw Failure{"no target of its package runs here"};
    compared.recordings += 1;
    return "";
  } catch (const Failure &failure) {
    return where + ": " + failure.text;
  } catch (const std::exception &error) {
    return where + ": " + error.what();
  }
}
