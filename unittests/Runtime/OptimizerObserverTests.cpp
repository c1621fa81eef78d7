//===- OptimizerObserverTests.cpp - Gradients by address, and who is told of a step -----------===//

#include "FakeRules.h"
#include "ReductionRules.h"
#include "runtime/cpu/ThreadPool.h"

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

/// Parameters of sizes that threads share and do not share, each with a gradient.
template <typename Element> struct Model {
  ThreadPool pool;
  upd_pool handle = pool.handle();
  std::vector<TestTensor<Element>> params, grads;
  std::vector<upd_tensor> gradViews;
  std::vector<const void *> addresses;
  std::unique_ptr<Optimizer> optimizer;

  explicit Model(const std::shared_ptr<const Kernels> &rule, size_t threads = 3) : pool(threads) {
    std::vector<upd_tensor> views;
    for (int64_t size : {1, 100000, 0, 8192 * 20, 3, 40000, 2, 50000, 1})
      for (int repeat = 0; repeat < 20; ++repeat) {
        params.emplace_back(std::vector<int64_t>{size}, Element(1));
        grads.emplace_back(std::vector<int64_t>{size}, Element(2));
      }
    for (size_t i = 0; i < params.size(); ++i) {
      views.push_back(params[i].view());
      gradViews.push_back(grads[i].view());
      addresses.push_back(grads[i].data.empty() ? &addresses : gradViews[i].data);
    }
    optimizer = makeOptimizer(rule, views, &handle);
  }
};

/// Counts how often it is told of each parameter, and calls `look` each time.
struct Observer {
  std::vector<std::atomic<int>> told;
  std::atomic<size_t> most = 0;
  std::function<void(size_t param)> look;
  upd_step_observer observer{[](void *context, const uint32_t *params, size_t count) {
                               auto &self = *static_cast<Observer *>(context);
                               if (count > self.most)
                                 self.most = count;
                               for (size_t i = 0; i < count; ++i) {
                                 ++self.told[params[i]];
                                 if (self.look)
                                   self.look(params[i]);
                               }
                             },
                             this};

  explicit Observer(size_t params) : told(params) {}
  std::vector<int> counts() const { return {told.begin(), told.end()}; }
};

StepGradients byAddress(const std::vector<const void *> &addresses) {
  return {.addresses = addresses.data(), .count = addresses.size()};
}

} // namespace

TEST(OptimizerObserver, IsToldOfEachParameterOnceItIsStepped) {
  for (size_t threads : {1, 2, 5}) {
    Model<float> model(momentumRule(), threads);
    Observer observer(model.params.size());
    std::atomic<int> unfinished = 0;
    observer.look = [&](size_t param) {
      for (float value : model.params[param].data)
        unfinished += value != 1 - 0.1f * 2;
    };
    ASSERT_EQ(textOf(model.optimizer->prepare(byAddress(model.addresses))), "ok");
    EXPECT_EQ(observer.counts(), std::vector<int>(model.params.size(), 0));
    ASSERT_EQ(textOf(model.optimizer->apply(&observer.observer)), "ok");
    EXPECT_EQ(observer.counts(), std::vector<int>(model.params.size(), 1)) << threads;
    EXPECT_EQ(unfinished, 0);
    EXPECT_LE(observer.most, UPD_OBSERVED_PARAMS);
  }
}

TEST(OptimizerObserver, IsToldOfAStepOfSeveralPasses) {
  Model<double> flat(countingRule());
  Observer ofFlat(flat.params.size());
  std::atomic<int> unfinished = 0;
  ofFlat.look = [&](size_t param) {
    for (double value : flat.params[param].data)
      unfinished += value != 1 + 1 + 1000 + 0.5;
  };
  ASSERT_EQ(textOf(flat.optimizer->prepare(byAddress(flat.addresses))), "ok");
  ASSERT_EQ(textOf(flat.optimizer->apply(&ofFlat.observer)), "ok");
  EXPECT_EQ(ofFlat.counts(), std::vector<int>(flat.params.size(), 1));
  EXPECT_EQ(unfinished, 0);

  // In windows, some of them one thread's; and after a reduction over the group.
  for (const auto &rule : {normalizedRule(), clipRule()}) {
    Model<float> model(rule);
    Observer observer(model.params.size());
    ASSERT_EQ(textOf(model.optimizer->prepare(byAddress(model.addresses))), "ok");
    ASSERT_EQ(textOf(model.optimizer->apply(&observer.observer)), "ok");
    for (size_t i = 0; i < model.params.size(); ++i) {
      int64_t steps = -1;
      ASSERT_EQ(textOf(model.optimizer->getStep(i, steps)), "ok");
      EXPECT_EQ(steps, 1);
      EXPECT_EQ(observer.told[i], 1) << rule->interface.name << " " << i;
    }
  }
}

TEST(OptimizerObserver, IsNotToldOfWhatIsSkippedOrAbsent) {
  Model<float> model(normalizedRule());
  model.grads[25].data[7] = std::numeric_limits<float>::infinity();
  model.addresses[0] = nullptr;
  Observer observer(model.params.size());
  ASSERT_EQ(textOf(model.optimizer->prepare(byAddress(model.addresses))), "ok");
  ASSERT_EQ(textOf(model.optimizer->apply(&observer.observer)), "ok");
  for (size_t i = 0; i < model.params.size(); ++i) {
    int64_t steps = -1;
    ASSERT_EQ(textOf(model.optimizer->getStep(i, steps)), "ok");
    EXPECT_EQ(observer.told[i], steps) << i;
  }
  EXPECT_EQ(observer.told[0], 0);
  EXPECT_EQ(observer.told[25], 0);
  EXPECT_EQ(observer.told[26], 1);

  const float found = 1;
  upd_tensor view{};
  view.data = const_cast<float *>(&found);
  view.device = UPD_CPU;
  ASSERT_EQ(textOf(model.optimizer->bindFoundInf(&view)), "ok");
  const std::vector<int> before = observer.counts();
  ASSERT_EQ(textOf(model.optimizer->prepare(byAddress(model.addresses))), "ok");
  ASSERT_EQ(textOf(model.optimizer->apply(&observer.observer)), "ok");
  EXPECT_EQ(observer.counts(), before);
}

TEST(OptimizerObserver, IsToldOfStepsOfRows) {
  TestTensor<float> a({2}, 1), b({3, 1}, 1), ga({2}, 2), gb({1, 1}, 2);
  auto optimizer = makeOptimizer(momentumRule(), {a.view(), b.view()});
  const int64_t index = 2;
  const upd_row_grad rows{1, &index, 1, gb.view(), 0};
  const std::vector<const void *> addresses = {ga.data.data(), nullptr};
  Observer observer(2);
  ASSERT_EQ(textOf(optimizer->prepare(
                {.addresses = addresses.data(), .count = 2, .rows = &rows, .rowCount = 1})),
            "ok");
  ASSERT_EQ(textOf(optimizer->apply(&observer.observer)), "ok");
  EXPECT_EQ(observer.counts(), (std::vector<int>{1, 1}));
  EXPECT_EQ(b.data, (std::vector<float>{1, 1, 1 - 0.1f * 2}));
}

TEST(GradientsByAddress, GiveTheStepOfTensors) {
  Model<float> first(momentumRule()), second(momentumRule());
  for (int step = 0; step < 4; ++step) {
    // Others are absent, and others have moved.
    first.gradViews[30] = step == 2 ? absentGradient() : second.grads[30].view();
    second.addresses[30] = step == 2 ? nullptr : first.grads[30].data.data();
    ASSERT_EQ(textOf(first.optimizer->step(first.gradViews.data(), first.gradViews.size())), "ok");
    ASSERT_EQ(textOf(second.optimizer->prepare(byAddress(second.addresses))), "ok");
    ASSERT_EQ(textOf(second.optimizer->apply(nullptr)), "ok");
  }
  for (size_t i = 0; i < first.params.size(); ++i) {
    int64_t expected = -1, steps = -2;
    ASSERT_EQ(textOf(first.optimizer->getStep(i, expected)), "ok");
    ASSERT_EQ(textOf(second.optimizer->getStep(i, steps)), "ok");
    EXPECT_EQ(steps, expected) << i;
    EXPECT_EQ(first.params[i].data, second.params[i].data) << i;
  }
}

TEST(GradientsByAddress, AreRefusedBeforeAnythingIsWritten) {
  TestTensor<float> a({2}, 1), b({2}, 1), grad({3}, 2);
  auto optimizer = makeOptimizer(momentumRule(), {a.view(), b.view()});
  auto refusal = [&](const void *ofA, const void *ofB) {
    const void *const addresses[] = {ofA, ofB};
    return textOf(optimizer->prepare({.addresses = addresses, .count = 2}));
  };
  EXPECT_EQ(refusal(nullptr, reinterpret_cast<const char *>(grad.data.data()) + 2),
            "gradient of parameter `1` is not aligned: f32 elements start at multiples of 4 bytes");
  EXPECT_EQ(
      refusal(grad.data.data(), a.data.data()),
      "gradient of parameter `1` overlaps parameter `0`; a step only reads gradients, so give "
      "it memory of its own");
  EXPECT_EQ(textOf(optimizer->prepare({.count = 2})), "grads is null, but grad_count is 2");
  EXPECT_EQ(textOf(optimizer->prepare({.addresses = nullptr, .count = 1})),
            "there is 1 gradient for 2 parameters; an absent one has the rank UPD_ABSENT");
  EXPECT_EQ(a.data, std::vector<float>(2, 1));
  EXPECT_EQ(b.data, std::vector<float>(2, 1));
}
