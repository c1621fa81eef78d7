//===- FakeRules.cpp - Rules written by hand, for tests of the runtime ------------------------===//

#include "FakeRules.h"

#include "runtime/base/DType.h"

#include <gtest/gtest.h>

using namespace updraft::runtime;

namespace {

/// Applies a function for one range to each of the ranges, for tensors with so many streams.
template <size_t streamCount, void (*sweep)(const void *, void *const *, int64_t, int64_t)>
void forRanges(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
               double *, const upd_site *) {
  for (int64_t i = 0; i < count; ++i)
    sweep(row, streams + static_cast<size_t>(i) * streamCount, ranges[i].begin, ranges[i].end);
}

/// One plan for all tensors: a prologue, then sweeps over all elements.
void setPlan(Kernels &kernels, uint32_t rowScalars, std::vector<SweepInterface> sweeps,
             upd_prologue_function prologue, std::vector<upd_sweep_function> functions) {
  PlanInterface plan;
  plan.rowScalars = rowScalars;
  plan.prologues = 1;
  plan.sequence = {StageInterface::prologue(0)};
  for (uint32_t i = 0; i < sweeps.size(); ++i)
    plan.sequence.push_back(StageInterface::sweep(i));
  plan.sweeps = std::move(sweeps);
  kernels.interface.plans = {std::move(plan)};
  test::listStreams(kernels.interface);
  kernels.plans = {{{prologue}, std::move(functions)}};
}

void noInitial(const double *, double *) {}
int32_t allValid(const double *) { return -1; }

void momentumInitial(const double *, double *initial) { initial[0] = 0; }
int32_t momentumValidate(const double *hyper) {
  if (!(hyper[0] >= 0))
    return 0;
  return hyper[1] >= 0 && hyper[1] < 1 ? -1 : 1;
}
void momentumPrologue(const double *hyper, const double *perTensor, const double *, const double *,
                      void *row, double *) {
  auto *values = static_cast<float *>(row);
  values[0] = 0;
  values[1] = static_cast<float>(hyper[0]);
  values[2] = perTensor[UPD_TENSOR_FIRST] != 0 ? 0 : static_cast<float>(hyper[1]);
}
void momentumSweep(const void *row, void *const *streams, int64_t begin, int64_t end) {
  const auto *values = static_cast<const float *>(row);
  auto *param = static_cast<float *>(streams[0]), *buf = static_cast<float *>(streams[2]);
  const auto *grad = static_cast<const float *>(streams[1]);
  for (int64_t i = begin; i < end; ++i) {
    buf[i] = values[2] * buf[i] + grad[i];
    param[i] -= values[1] * buf[i];
  }
}

void initialInitial(const double *hyper, double *initial) {
  initial[0] = hyper[0];
  initial[1] = 1;
}
void initialPrologue(const double *, const double *, const double *, const double *, void *row,
                     double *) {
  *static_cast<float *>(row) = 0;
}
void initialSweep(const void *, void *const *streams, int64_t begin, int64_t end) {
  auto *param = static_cast<float *>(streams[0]), *size = static_cast<float *>(streams[2]);
  auto *last = static_cast<uint16_t *>(streams[3]);
  const auto *grad = static_cast<const float *>(streams[1]);
  for (int64_t i = begin; i < end; ++i) {
    size[i] *= 2;
    last[i] = last[i] == 0x3f80 || last[i] == 0x4000 ? 0x4000 : 0xffff;
    param[i] -= size[i] * grad[i];
  }
}

void countingPrologue(const double *, const double *perTensor, const double *, const double *,
                      void *row, double *) {
  auto *values = static_cast<double *>(row);
  values[0] = 0;
  values[1] = 1 + 1000 * perTensor[UPD_TENSOR_FIRST];
}
void countingSweep0(const void *row, void *const *streams, int64_t begin, int64_t end) {
  ASSERT_EQ(begin % UPD_LEAF_ELEMENTS, 0);
  for (int64_t i = begin; i < end; ++i)
    static_cast<double *>(streams[0])[i] += static_cast<const double *>(row)[1];
}
void countingSweep1(const void *, void *const *streams, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<double *>(streams[0])[i] += 0.5;
}

void skippingPrologue(const double *hyper, const double *perTensor, const double *, const double *,
                      void *row, double *) {
  auto *values = static_cast<float *>(row);
  values[0] = hyper[0] != 0;
  values[1] = static_cast<float>(perTensor[UPD_TENSOR_STEP]);
}
void skippingSweep(const void *row, void *const *streams, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(streams[2])[i] = static_cast<const float *>(row)[1];
}

} // namespace

void test::listStreams(RuleInterface &rule) {
  using Kind = StreamInterface::Kind;
  for (PlanInterface &plan : rule.plans) {
    std::vector<StreamInterface> temporaries = std::move(plan.streams);
    std::erase_if(temporaries, [](const auto &stream) { return stream.kind != Kind::Temporary; });
    plan.streams = {{Kind::Param, rule.param, Extent::Element},
                    {Kind::Grad, rule.grad, Extent::Element}};
    plan.scalarStates.clear();
    for (uint32_t i = 0; i < rule.states.size(); ++i) {
      const StateInterface &state = rule.states[i];
      if (state.isOf(plan.tensors) && isScalar(state.over))
        plan.scalarStates.push_back(i);
      else if (state.isOf(plan.tensors))
        plan.streams.push_back({Kind::State, state.dtype, state.over, i});
    }
    for (size_t i = 0, count = plan.streams.size(); i < count; ++i)
      if (isBlocked(plan.streams[i].dtype)) {
        plan.streams[i].scales = static_cast<uint32_t>(plan.streams.size());
        plan.streams.push_back({Kind::Scales, UPD_F32, Extent::Element});
      }
    plan.firstTemporary = static_cast<uint32_t>(plan.streams.size());
    plan.streams.insert(plan.streams.end(), temporaries.begin(), temporaries.end());
  }
}

std::shared_ptr<const Kernels> test::momentumRule() {
  auto kernels = std::make_shared<Kernels>();
  kernels->interface.name = "Momentum";
  kernels->interface.hypers = {{"lr", 0.1}, {"momentum", 0.5}};
  kernels->interface.states = {{"buf", UPD_F32}};
  kernels->interface.messages = {"Invalid learning rate: {lr}",
                                 "{{momentum}} is {momentum}, not in [0, 1)"};
  kernels->initial = momentumInitial;
  kernels->validate = momentumValidate;
  setPlan(*kernels, 3, {{{0, 1, 2}, {0, 2}}}, momentumPrologue, {forRanges<3, momentumSweep>});
  return kernels;
}

std::shared_ptr<const Kernels> test::initialRule() {
  auto kernels = std::make_shared<Kernels>();
  kernels->interface.name = "Initial";
  kernels->interface.hypers = {{"lr", 0.25}};
  kernels->interface.states = {{"size", UPD_F32}, {"last", UPD_BF16}};
  kernels->initial = initialInitial;
  kernels->validate = allValid;
  setPlan(*kernels, 1, {{{0, 1, 2, 3}, {0, 2, 3}}}, initialPrologue, {forRanges<4, initialSweep>});
  return kernels;
}

std::shared_ptr<const Kernels> test::countingRule() {
  auto kernels = std::make_shared<Kernels>();
  kernels->interface.name = "Counting";
  kernels->interface.compute = kernels->interface.param = kernels->interface.grad = UPD_F64;
  kernels->initial = noInitial;
  kernels->validate = allValid;
  setPlan(*kernels, 2, {{{0}, {0}}, {{0}, {0}}}, countingPrologue,
          {forRanges<2, countingSweep0>, forRanges<2, countingSweep1>});
  return kernels;
}

std::shared_ptr<const Kernels> test::skippingRule() {
  auto kernels = std::make_shared<Kernels>();
  kernels->interface.name = "Skipping";
  kernels->interface.hypers = {{"stop", 0}};
  kernels->interface.states = {{"n", UPD_F32}};
  kernels->initial = momentumInitial;
  kernels->validate = allValid;
  setPlan(*kernels, 2, {{{}, {2}}}, skippingPrologue, {forRanges<3, skippingSweep>});
  return kernels;
}

std::unique_ptr<Optimizer> test::makeOptimizer(std::shared_ptr<const Kernels> kernels,
                                               const std::vector<upd_tensor> &params,
                                               const upd_pool *pool) {
  const upd_group group = groupOf(params);
  std::unique_ptr<Optimizer> optimizer;
  Status status = CpuOptimizer::create(std::move(kernels), &group, 1, pool, optimizer);
  EXPECT_TRUE(status.ok()) << status.message();
  return optimizer;
}

std::string test::textOf(const Status &status) { return status.ok() ? "ok" : status.message(); }
