//===- Optimizer.cpp - updraft-c/optimizer.h --------------------------------------------------===//

#include "updraft-c/optimizer.h"

#include "runtime/capi/Devices.h"
#include "runtime/capi/Handles.h"
#include "runtime/capi/Report.h"
#include "runtime/cpu/CpuOptimizer.h"

using namespace updraft;
using capi::nullArgument;
using capi::query;
using capi::report;

template <typename Handle, typename Body> static upd_status change(Handle *optimizer, Body &&body) {
  return query(optimizer, "optimizer", optimizer, std::forward<Body>(body));
}

/// Returns the device on which a rule steps: the kind it was compiled for, and of several GPUs the
/// one that holds its first parameter.
static runtime::TensorDevice deviceFor(const runtime::Kernels &kernels, const upd_group *groups,
                                       size_t groupCount) {
  const upd_device wanted = capi::deviceOf(kernels);
  if (wanted == UPD_CPU)
    return {};
  for (size_t i = 0; i < groupCount && groups; ++i)
    if (groups[i].param_count != 0 && groups[i].params) {
      const auto first = runtime::TensorDevice::of(groups[i].params[0]);
      if (first.kind == wanted || first.isCpu())
        return first;
      return {wanted, 0};
    }
  return {wanted, 0};
}

static runtime::Status create(std::shared_ptr<const runtime::Kernels> kernels,
                              const upd_group *groups, size_t groupCount, const upd_pool *pool,
                              std::unique_ptr<runtime::Optimizer> &result) {
  const runtime::TensorDevice where = deviceFor(*kernels, groups, groupCount);
  if (where.isCpu())
    return runtime::CpuOptimizer::create(kernels, groups, groupCount, pool, result);
  return capi::createOnDevice(where, std::move(kernels), groups, groupCount, pool, result);
}

upd_status upd_optimizer_create(upd_rule *rule, const upd_group *groups, size_t group_count,
                                const upd_pool *pool, upd_optimizer **optimizer) {
  return report([&] {
    if (!optimizer)
      return nullArgument("optimizer, where the result goes,");
    *optimizer = nullptr;
    if (!rule)
      return nullArgument("rule");
    std::unique_ptr<runtime::Optimizer> created;
    runtime::Status status = create(rule->kernels, groups, group_count, pool, created);
    if (status.ok())
      *optimizer = new upd_optimizer{std::move(created)};
    return status;
  });
}

void upd_optimizer_release(upd_optimizer *optimizer) { delete optimizer; }

size_t upd_optimizer_param_count(const upd_optimizer *optimizer) {
  return optimizer ? optimizer->optimizer->paramCount() : 0;
}

size_t upd_optimizer_group_count(const upd_optimizer *optimizer) {
  return optimizer ? optimizer->optimizer->groupCount() : 0;
}

upd_status upd_optimizer_step(upd_optimizer *optimizer, const upd_tensor *grads,
                              size_t grad_count) {
  return change(optimizer, [&](runtime::Optimizer &o) { return o.step(grads, grad_count); });
}

upd_status upd_optimizer_step_rows(upd_optimizer *optimizer, const upd_tensor *grads,
                                   size_t grad_count, const upd_row_grad *row_grads,
                                   size_t row_grad_count) {
  return change(optimizer, [&](runtime::Optimizer &o) {
    return o.stepRows(grads, grad_count, row_grads, row_grad_count);
  });
}

upd_status upd_optimizer_prepare_rows(upd_optimizer *optimizer, const upd_tensor *grads,
                                      size_t grad_count, const upd_row_grad *row_grads,
                                      size_t row_grad_count) {
  return change(optimizer, [&](runtime::Optimizer &o) {
    return o.prepare(
        runtime::StepGradients::withRows(grads, grad_count, row_grads, row_grad_count));
  });
}

upd_status upd_optimizer_prepare_addresses(upd_optimizer *optimizer, const void *const *grads,
                                           size_t grad_count, const upd_row_grad *row_grads,
                                           size_t row_grad_count) {
  return change(optimizer, [&](runtime::Optimizer &o) {
    return o.prepare({.addresses = grads,
                      .count = grad_count,
                      .rows = row_grads,
                      .rowCount = row_grad_count,
                      .hasWhole = grad_count != 0});
  });
}

upd_status upd_optimizer_apply(upd_optimizer *optimizer) {
  return upd_optimizer_apply_observed(optimizer, nullptr);
}

upd_status upd_optimizer_apply_observed(upd_optimizer *optimizer,
                                        const upd_step_observer *observer) {
  // Without the functions above: a debugger that stops in a kernel shows each of them.
  try {
    const runtime::Status status =
        optimizer ? optimizer->optimizer->apply(observer) : nullArgument("optimizer");
    return status.ok() ? UPD_OK : capi::fail(status.code(), status.message());
  } catch (...) {
    return capi::failByException();
  }
}

upd_status upd_optimizer_set_stream(upd_optimizer *optimizer, void *stream) {
  return change(optimizer, [&](runtime::Optimizer &o) { return o.setStream(stream); });
}

upd_status upd_optimizer_bind_found_inf(upd_optimizer *optimizer, const upd_tensor *found_inf) {
  return change(optimizer, [&](runtime::Optimizer &o) { return o.bindFoundInf(found_inf); });
}

upd_status upd_optimizer_bind_hyper(upd_optimizer *optimizer, size_t group, const char *name,
                                    const upd_tensor *value) {
  return change(optimizer, [&](runtime::Optimizer &o) { return o.bindHyper(group, name, value); });
}

upd_status upd_optimizer_bind_step(upd_optimizer *optimizer, size_t param,
                                   const upd_tensor *count) {
  return query(optimizer, "count", count,
               [&](runtime::Optimizer &o) { return o.bindStep(param, *count); });
}

upd_status upd_optimizer_get_hyper(const upd_optimizer *optimizer, size_t group, const char *name,
                                   double *value) {
  return query(optimizer, "value, where the result goes,", value,
               [&](const runtime::Optimizer &o) { return o.getHyper(group, name, *value); });
}

upd_status upd_optimizer_set_hyper(upd_optimizer *optimizer, size_t group, const char *name,
                                   double value) {
  return change(optimizer, [&](runtime::Optimizer &o) { return o.setHyper(group, name, value); });
}

upd_status upd_optimizer_set_hypers(upd_optimizer *optimizer, size_t group, const upd_hyper *hypers,
                                    size_t hyper_count) {
  return change(optimizer,
                [&](runtime::Optimizer &o) { return o.setHypers(group, hypers, hyper_count); });
}

upd_status upd_optimizer_ignore_requirements(upd_optimizer *optimizer) {
  return change(optimizer, [](runtime::Optimizer &o) {
    o.ignoreRequirements();
    return runtime::Status();
  });
}

upd_status upd_optimizer_get_step(const upd_optimizer *optimizer, size_t param, int64_t *step) {
  return query(optimizer, "step, where the result goes,", step,
               [&](runtime::Optimizer &o) { return o.getStep(param, *step); });
}

upd_status upd_optimizer_get_steps(const upd_optimizer *optimizer, int64_t *steps, size_t count) {
  return query(optimizer, "steps, where the results go,", steps,
               [&](runtime::Optimizer &o) { return o.getSteps(steps, count); });
}

upd_status upd_optimizer_set_step(upd_optimizer *optimizer, size_t param, int64_t step) {
  return change(optimizer, [&](runtime::Optimizer &o) { return o.setStep(param, step); });
}

upd_status upd_optimizer_get_seed(const upd_optimizer *optimizer, uint64_t *seed) {
  return query(optimizer, "seed, where the result goes,", seed, [&](const runtime::Optimizer &o) {
    *seed = o.getSeed();
    return runtime::Status();
  });
}

upd_status upd_optimizer_set_seed(upd_optimizer *optimizer, uint64_t seed) {
  return change(optimizer, [&](runtime::Optimizer &o) {
    o.setSeed(seed);
    return runtime::Status();
  });
}

upd_status upd_optimizer_set_param_numbers(upd_optimizer *optimizer, const uint64_t *numbers,
                                           size_t count) {
  return change(optimizer,
                [&](runtime::Optimizer &o) { return o.setParamNumbers(numbers, count); });
}

upd_status upd_optimizer_state(upd_optimizer *optimizer, size_t param, const char *state,
                               upd_tensor *tensor) {
  return query(optimizer, "tensor, where the result goes,", tensor,
               [&](runtime::Optimizer &o) { return o.state(param, state, *tensor); });
}

upd_status upd_optimizer_initial_value(const upd_optimizer *optimizer, size_t param,
                                       const char *state, double *value) {
  return query(optimizer, "value, where the result goes,", value,
               [&](const runtime::Optimizer &o) { return o.initialValue(param, state, *value); });
}

upd_status upd_optimizer_bind_state(upd_optimizer *optimizer, size_t param, const char *state,
                                    const upd_tensor *tensor) {
  return query(optimizer, "tensor", tensor,
               [&](runtime::Optimizer &o) { return o.bindState(param, state, *tensor); });
}

upd_status upd_optimizer_save(upd_optimizer *optimizer, const char *path) {
  return query(optimizer, "path", path, [&](runtime::Optimizer &o) { return o.save(path); });
}

upd_status upd_optimizer_load(upd_optimizer *optimizer, const char *path) {
  return query(optimizer, "path", path, [&](runtime::Optimizer &o) { return o.load(path); });
}
