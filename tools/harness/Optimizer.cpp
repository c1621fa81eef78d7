//===- Optimizer.cpp - RAII for rules and optimizers of the C API -----------------------------===//

#include "tools/harness/Optimizer.h"

using namespace updraft::harness;

void updraft::harness::check(upd_status status) {
  if (status != UPD_OK)
    throw std::runtime_error(upd_last_error());
}

Rule updraft::harness::compile(const RuleRequest &request, const std::string &target,
                               const char *cacheFolder) {
  std::vector<upd_setting> settings;
  for (const auto &[name, value] : request.settings)
    settings.push_back({name.c_str(), value.c_str()});
  std::vector<upd_storage> storage;
  for (const auto &[name, type] : request.storage)
    storage.push_back({name.c_str(), type.c_str()});
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.rule = request.rule.empty() ? nullptr : request.rule.c_str();
  options.settings = settings.data();
  options.setting_count = settings.size();
  options.storage = storage.data();
  options.storage_count = storage.size();
  options.numerics = request.numerics.empty() ? nullptr : request.numerics.c_str();
  options.cache_dir = cacheFolder;
  std::vector<const char *> probes;
  for (const std::string &probe : request.probes)
    probes.push_back(probe.c_str());
  options.probes = probes.data();
  options.probe_count = probes.size();
  options.target = target.empty() ? nullptr : target.c_str();
  upd_rule *rule = nullptr;
  const upd_status status =
      request.file.empty()
          ? upd_compile(request.source.data(), request.source.size(), "rule.upd", &options, &rule)
          : upd_compile_file(request.file.c_str(), &options, &rule);
  if (status == UPD_UNSUPPORTED)
    throw Unsupported(upd_last_error());
  check(status);
  return {rule, upd_rule_release};
}

Optimizer updraft::harness::makeOptimizer(upd_rule *rule,
                                          const std::vector<std::vector<upd_tensor>> &groups,
                                          const upd_pool *pool) {
  std::vector<upd_group> described;
  for (const std::vector<upd_tensor> &group : groups)
    described.push_back({group.data(), nullptr, group.size(), nullptr, 0});
  upd_optimizer *optimizer = nullptr;
  check(upd_optimizer_create(rule, described.data(), described.size(), pool, &optimizer));
  return {optimizer, upd_optimizer_release};
}
