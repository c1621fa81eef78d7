//===- Recording.cpp - Steps for other machines to repeat -------------------------------------===//

#include "Recording.h"

#include "runtime/base/DType.h"
#include "updraft/Packager/Packager.h"

#include "llvm/ADT/StringExtras.h"

#include <cstdlib>
#include <unistd.h>

using namespace updraft;
using namespace updraft::differential;
using runtime::SafetensorsType;

static llvm::SmallVector<llvm::StringRef> targets() {
  const char *named = std::getenv("UPDRAFT_RECORD_TARGETS");
  llvm::SmallVector<llvm::StringRef> result;
  llvm::StringRef(named ? named : "x86-64-v2,aarch64").split(result, ',');
  return result;
}

static std::string pack(const RuleCase &ruleCase) {
  PackRequest request;
  request.rule.source = ruleCase.source;
  request.rule.filename = ruleCase.filename;
  request.rule.rule = {ruleCase.rule, ruleCase.settings, {}, ruleCase.numerics};
  request.variants = {ruleCase.storage};
  for (llvm::StringRef target : targets())
    request.targets.push_back(target.str());
  llvm::Expected<std::string> bytes = packRule(request);
  if (bytes)
    return std::move(*bytes);
  ADD_FAILURE() << llvm::toString(bytes.takeError());
  return "";
}

std::unique_ptr<Recording> Recording::start(const RuleCase &ruleCase) {
  const char *folder = std::getenv("UPDRAFT_RECORD_STEPS");
  if (!folder || ruleCase.target != "host")
    return nullptr;
  std::unique_ptr<Recording> recording(new Recording(folder));
  std::string bytes = pack(ruleCase);
  const auto size = int64_t(bytes.size());
  recording->addBytes("package", SafetensorsType::U8, {size}, std::move(bytes));
  recording->description = {{"case", describe(ruleCase)},
                            {"steps", 0},
                            {"changes", nlohmann::json::array()},
                            {"states", nlohmann::json::array()}};
  return recording;
}

void Recording::addBytes(const std::string &name, SafetensorsType type, std::vector<int64_t> shape,
                         std::string bytes) {
  file.add(name, type, std::move(shape),
           [bytes = std::move(bytes)](runtime::SafetensorsSink &sink) {
             return sink.write(bytes.data(), bytes.size());
           });
}

void Recording::add(const std::string &name, const upd_tensor &tensor) {
  const SafetensorsType type = runtime::safetensorsType(tensor.dtype);
  size_t bytes = sizeOf(type);
  for (int32_t i = 0; i < tensor.rank; ++i)
    bytes *= size_t(tensor.shape[i]);
  addBytes(name, type, {tensor.shape, tensor.shape + tensor.rank},
           {static_cast<const char *>(tensor.data), bytes});
}

void Recording::setParams(llvm::ArrayRef<upd_tensor> params, llvm::ArrayRef<size_t> groups,
                          uint64_t seed) {
  for (size_t i = 0; i < params.size(); ++i)
    add("param/" + std::to_string(i), params[i]);
  description["groups"] = groups.vec();
  description["seed"] = std::to_string(seed);
}

void Recording::addState(size_t param, const std::string &name, const upd_tensor &state,
                         size_t bytes) {
  description["states"].push_back(
      {param, name, state.dtype, std::vector<int64_t>(state.shape, state.shape + state.rank)});
  addBytes("state/" + std::to_string(param) + "/" + name, SafetensorsType::U8, {int64_t(bytes)},
           {static_cast<const char *>(state.data), bytes});
}

void Recording::addChange(const std::string &name, double value) {
  description["changes"].push_back({int(description["steps"]) + 1, name, value});
}

void Recording::addStep(llvm::ArrayRef<upd_tensor> grads) {
  const int step = int(description["steps"]) + 1;
  description["steps"] = step;
  for (size_t i = 0; i < grads.size(); ++i)
    if (grads[i].rank != UPD_ABSENT)
      add("grad/" + std::to_string(i) + "/" + std::to_string(step), grads[i]);
}

void Recording::finish(upd_rule &rule, upd_optimizer &optimizer,
                       llvm::ArrayRef<upd_tensor> params) {
  for (size_t i = 0; i < params.size(); ++i) {
    add("expected/param/" + std::to_string(i), params[i]);
    for (size_t state = 0; state < upd_rule_state_count(&rule); ++state) {
      std::vector<std::string> names{upd_rule_state_name(&rule, state)};
      if (runtime::isBlocked(upd_rule_state_dtype(&rule, state)))
        names.push_back(names[0] + ".scale");
      for (const std::string &name : names) {
        upd_tensor found;
        // A tensor without steps has no states.
        if (upd_optimizer_state(&optimizer, i, name.c_str(), &found) == UPD_OK)
          add("expected/state/" + std::to_string(i) + "/" + name, found);
      }
    }
  }
  file.setMetadata("steps", description.dump());
  static int number = 0;
  const std::string path =
      folder + "/" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".safetensors";
  const runtime::Status status = file.save(path);
  EXPECT_TRUE(status.ok()) << status.message();
}
