//===- PrologueRowsTests.cpp - Values shared by tensors with separate rows --------------------===//

#include "FakeRules.h"
#include "runtime/cpu/ThreadPool.h"

#include <gtest/gtest.h>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

/// The numbers of calls of the functions of the rule below.
struct Calls {
  int byStep, byTensor, sumSweep, updateSweep;
  bool operator==(const Calls &) const = default;
} calls;

// scale = lr * step, the same for all tensors of a group. total = sum of scale * grad of each
// tensor. param -= scale + total. The state `seen` of a tensor sums the totals, and `count` of the
// group counts the steps. A tensor whose total is 12345 is skipped.

void initial(const double *, double *values) { values[0] = values[1] = 0; }
int32_t allValid(const double *) { return -1; }

void byStep(const double *hyper, const double *facts, const double *, const double *scalars,
            void *row, double *next) {
  ++calls.byStep;
  auto *values = static_cast<float *>(row);
  values[0] = 0;
  values[1] = static_cast<float>(hyper[0] * facts[UPD_TENSOR_STEP]);
  next[1] = scalars[1] + 1;
}
void byTensor(const double *, const double *, const double *reduced, const double *scalars,
              void *row, double *next) {
  ++calls.byTensor;
  auto *values = static_cast<float *>(row);
  values[0] = reduced[0] == 12345;
  values[2] = static_cast<float>(reduced[0]);
  next[0] = scalars[0] + reduced[0];
}
void sumSweep(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
              double *partials, const upd_site *) {
  ++calls.sumSweep;
  for (int64_t i = 0; i < count; ++i) {
    double total = 0;
    for (int64_t j = ranges[i].begin; j < ranges[i].end; ++j)
      total +=
          static_cast<const float *>(row)[1] * static_cast<const float *>(streams[2 * i + 1])[j];
    if (ranges[i].begin != ranges[i].end)
      *partials++ = total;
  }
}
void updateSweep(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
                 double *, const upd_site *) {
  ++calls.updateSweep;
  const auto *values = static_cast<const float *>(row);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = ranges[i].begin; j < ranges[i].end; ++j)
      static_cast<float *>(streams[2 * i])[j] -= values[1] + values[2];
}

std::shared_ptr<const Kernels> totalRule() {
  auto kernels = std::make_shared<Kernels>();
  RuleInterface &rule = kernels->interface;
  rule.name = "Total";
  rule.hypers = {{"lr", 1}};
  rule.states = {{"seen", UPD_F64, Extent::Tensor}, {"count", UPD_F64, Extent::Group}};
  PlanInterface plan;
  plan.prefix = "Total";
  plan.rowScalars = 3;
  plan.prologues = 2;
  plan.sweeps = {{{1}, {}, {}, {{ReductionInterface::Kind::Sum, Extent::Tensor}}}, {{0}, {0}}};
  plan.sequence = {StageInterface::prologue(0), StageInterface::sweep(0),
                   StageInterface::prologue(1, true), StageInterface::sweep(1)};
  rule.plans = {plan};
  test::listStreams(rule);
  kernels->initial = initial;
  kernels->validate = allValid;
  kernels->plans = {{{byStep, byTensor}, {sumSweep, updateSweep}}};
  return kernels;
}

/// Two groups of three tensors, and the expected parameters and scalar states.
struct Model {
  ThreadPool pool{1};
  upd_pool handle = pool.handle();
  std::vector<TestTensor<float>> params, grads;
  std::vector<upd_tensor> paramViews, gradViews;
  std::unique_ptr<Optimizer> optimizer;

  Model() {
    for (int64_t size : {1, 2, 0, 3, 1, 2}) {
      params.emplace_back(std::vector<int64_t>{size}, 100.0f);
      grads.emplace_back(std::vector<int64_t>{size}, static_cast<float>(params.size()));
    }
    for (size_t i = 0; i < params.size(); ++i) {
      paramViews.push_back(params[i].view());
      gradViews.push_back(grads[i].view());
    }
    upd_group groups[2] = {};
    const upd_hyper lr{"lr", 2};
    for (size_t i = 0; i < 2; ++i) {
      groups[i].params = paramViews.data() + 3 * i;
      groups[i].param_count = 3;
    }
    groups[1].hypers = &lr;
    groups[1].hyper_count = 1;
    EXPECT_EQ(textOf(CpuOptimizer::create(totalRule(), groups, 2, &handle, optimizer)), "ok");
  }
  Calls step() {
    calls = {};
    EXPECT_EQ(textOf(optimizer->step(gradViews.data(), gradViews.size())), "ok");
    return calls;
  }
  double valueOf(size_t param, const char *name) {
    upd_tensor state{};
    EXPECT_EQ(textOf(optimizer->state(param, name, state)), "ok");
    return state.data ? *static_cast<const double *>(state.data) : -1;
  }
};

} // namespace

TEST(PrologueRows, ShareValuesThatDoNotDependOnATensor) {
  Model model;
  EXPECT_EQ(model.step(), (Calls{2, 6, 2, 6}));
  for (size_t i = 0; i < 6; ++i) {
    const auto scale = i < 3 ? 1.0f : 2.0f, size = static_cast<float>(model.grads[i].data.size());
    const float total = scale * static_cast<float>(i + 1) * size;
    EXPECT_EQ(model.params[i].data,
              std::vector<float>(model.grads[i].data.size(), 100 - scale - total));
    EXPECT_EQ(model.valueOf(i, "seen"), total);
    EXPECT_EQ(model.valueOf(i, "count"), 1);
  }
  // Different step counts need different rows.
  ASSERT_EQ(textOf(model.optimizer->setStep(1, 7)), "ok");
  EXPECT_EQ(model.step(), (Calls{4, 6, 4, 6}));
  EXPECT_EQ(model.params[0].data[0], 100 - 2 - 2 * 2);
  EXPECT_EQ(model.params[1].data[1], 100 - 5 - 8 - 8 * 4);
  EXPECT_EQ(model.valueOf(1, "seen"), 4 + 8 * 4);
}

TEST(PrologueRows, KeepValuesOfTheGroupIfTheFirstTensorIsSkipped) {
  Model model;
  model.step();
  model.grads[0].data[0] = 12345 / 2.0f;
  EXPECT_EQ(model.step(), (Calls{2, 6, 2, 5}));
  EXPECT_EQ(model.params[0].data[0], 98);
  EXPECT_EQ(model.valueOf(0, "seen"), 1);
  EXPECT_EQ(model.valueOf(1, "count"), 2);
}
