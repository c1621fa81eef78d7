//===- Rule.cpp - updraft-c/rule.h ------------------------------------------------------------===//

#include "updraft-c/rule.h"

#include "runtime/capi/Devices.h"
#include "runtime/capi/Report.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

using namespace updraft;
using capi::guarded;

static const runtime::RuleInterface &interfaceOf(const upd_rule *rule) {
  return rule->kernels->interface;
}

void upd_rule_release(upd_rule *rule) { delete rule; }

const char *upd_rule_name(const upd_rule *rule) {
  return rule ? interfaceOf(rule).name.c_str() : nullptr;
}
upd_origin upd_rule_origin(const upd_rule *rule) { return rule ? rule->origin : UPD_COMPILED; }
upd_dtype upd_rule_param_dtype(const upd_rule *rule) {
  return rule ? interfaceOf(rule).param : UPD_F32;
}
upd_dtype upd_rule_grad_dtype(const upd_rule *rule) {
  return rule ? interfaceOf(rule).grad : UPD_F32;
}

upd_device upd_rule_device(const upd_rule *rule) {
  return rule ? capi::deviceOf(*rule->kernels) : UPD_CPU;
}

const char *upd_rule_target(const upd_rule *rule) {
  if (!rule)
    return nullptr;
  const std::string &gpu = interfaceOf(rule).gpu;
  return gpu.empty() ? "host" : gpu.c_str();
}
upd_dtype upd_rule_compute_dtype(const upd_rule *rule) {
  return rule ? interfaceOf(rule).compute : UPD_F32;
}
const char *upd_rule_numerics(const upd_rule *rule) {
  return rule ? interfaceOf(rule).numerics.c_str() : nullptr;
}
upd_extent upd_rule_depends_on(const upd_rule *rule) {
  return rule ? static_cast<upd_extent>(interfaceOf(rule).dependsOn) : UPD_EXTENT_GROUP;
}
int32_t upd_rule_uses_rows(const upd_rule *rule) {
  return rule && interfaceOf(rule).usesRows() ? 1 : 0;
}

const upd_descriptor *upd_rule_descriptor(const upd_rule *rule, size_t *size) {
  if (size)
    *size = rule ? rule->kernels->descriptor.size() : 0;
  return rule ? reinterpret_cast<const upd_descriptor *>(rule->kernels->descriptor.data())
              : nullptr;
}

const char *upd_rule_interface(const upd_rule *rule) {
  if (!rule)
    return nullptr;
  const upd_status status = guarded([&] {
    std::call_once(rule->isExported, [&] { rule->json = interfaceOf(rule).json(); });
    return UPD_OK;
  });
  return status == UPD_OK ? rule->json.c_str() : nullptr;
}

size_t upd_rule_static_count(const upd_rule *rule) {
  return rule ? interfaceOf(rule).statics.size() : 0;
}
const char *upd_rule_static_name(const upd_rule *rule, size_t index) {
  return index < upd_rule_static_count(rule) ? interfaceOf(rule).statics[index].first.c_str()
                                             : nullptr;
}
const char *upd_rule_static_value(const upd_rule *rule, size_t index) {
  return index < upd_rule_static_count(rule) ? interfaceOf(rule).statics[index].second.c_str()
                                             : nullptr;
}

size_t upd_rule_hyper_count(const upd_rule *rule) {
  return rule ? interfaceOf(rule).hypers.size() : 0;
}
const char *upd_rule_hyper_name(const upd_rule *rule, size_t index) {
  return index < upd_rule_hyper_count(rule) ? interfaceOf(rule).hypers[index].name.c_str()
                                            : nullptr;
}
double upd_rule_hyper_default(const upd_rule *rule, size_t index) {
  return index < upd_rule_hyper_count(rule) ? interfaceOf(rule).hypers[index].defaultValue : 0.0;
}
int32_t upd_rule_hyper_decides_flag(const upd_rule *rule, size_t index) {
  return rule && std::any_of(interfaceOf(rule).derived.begin(), interfaceOf(rule).derived.end(),
                             [&](const runtime::DerivedInterface &flag) {
                               return std::find(flag.hypers.begin(), flag.hypers.end(), index) !=
                                      flag.hypers.end();
                             })
             ? 1
             : 0;
}
size_t upd_rule_state_count(const upd_rule *rule) {
  return rule ? interfaceOf(rule).states.size() : 0;
}
const char *upd_rule_state_name(const upd_rule *rule, size_t index) {
  return index < upd_rule_state_count(rule) ? interfaceOf(rule).states[index].name.c_str()
                                            : nullptr;
}
upd_dtype upd_rule_state_dtype(const upd_rule *rule, size_t index) {
  return index < upd_rule_state_count(rule) ? interfaceOf(rule).states[index].dtype : UPD_F32;
}
upd_extent upd_rule_state_extent(const upd_rule *rule, size_t index) {
  return index < upd_rule_state_count(rule)
             ? static_cast<upd_extent>(interfaceOf(rule).states[index].over)
             : UPD_EXTENT_GROUP;
}
upd_tensors upd_rule_state_tensors(const upd_rule *rule, size_t index) {
  return index < upd_rule_state_count(rule)
             ? static_cast<upd_tensors>(interfaceOf(rule).states[index].tensors)
             : UPD_ALL_TENSORS;
}

size_t upd_rule_probe_count(const upd_rule *rule) {
  return rule ? rule->kernels->interface.probes.size() : 0;
}

const char *upd_rule_probe_name(const upd_rule *rule, size_t index) {
  return index < upd_rule_probe_count(rule) ? rule->kernels->interface.probes[index].name.c_str()
                                            : nullptr;
}

double upd_rule_probe_end(const upd_rule *rule, size_t index) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  return index < upd_rule_probe_count(rule) ? interfaceOf(rule).probes[index].end.value_or(none)
                                            : none;
}

upd_status upd_rule_check_hypers(const upd_rule *rule, const upd_hyper *hypers,
                                 size_t hyper_count) {
  return capi::report([&] {
    if (!rule)
      return capi::nullArgument("rule");
    return runtime::GroupHypers(rule->kernels).check(hypers, hyper_count);
  });
}

void upd_string_release(char *text) { std::free(text); }
