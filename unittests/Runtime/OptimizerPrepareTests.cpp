//===- OptimizerPrepareTests.cpp - Steps in two halves ----------------------------------------===//

#include "FakeRules.h"
#include "ReductionRules.h"

#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

constexpr const char *notPrepared = "no step is prepared: none was, it was refused or applied, or "
                                    "the optimizer has changed since";

std::string prepareText(Optimizer &optimizer, const std::vector<upd_tensor> &grads) {
  return textOf(optimizer.prepare(StepGradients::withRows(grads.data(), grads.size(), nullptr, 0)));
}

int64_t stepsOf(Optimizer &optimizer) {
  int64_t steps = -1;
  EXPECT_TRUE(optimizer.getStep(0, steps).ok());
  return steps;
}

} // namespace

TEST(OptimizerPrepare, WritesNothingUntilItIsApplied) {
  TestTensor<float> w({3}, 1), g({3}, 2);
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  upd_tensor state;
  ASSERT_EQ(prepareText(*optimizer, {g.view()}), "ok");
  EXPECT_EQ(w.data, std::vector<float>(3, 1));
  EXPECT_EQ(optimizer->state(0, "buf", state).code(), UPD_NOT_FOUND);
  EXPECT_EQ(stepsOf(*optimizer), 0);
  ASSERT_EQ(textOf(optimizer->apply(nullptr)), "ok");
  EXPECT_EQ(w.data, std::vector<float>(3, 1 - 0.1f * 2));
  ASSERT_EQ(textOf(optimizer->state(0, "buf", state)), "ok");
  EXPECT_EQ(static_cast<float *>(state.data)[0], 2);
  EXPECT_EQ(stepsOf(*optimizer), 1);
  EXPECT_EQ(textOf(optimizer->apply(nullptr)), notPrepared);
  EXPECT_EQ(stepsOf(*optimizer), 1);
}

/// Mixed with whole steps, with gradients in other memory, and with prepared steps that aren't
/// applied. Those leave no traces, whether they were first steps or later ones.
TEST(OptimizerPrepare, AreStepsAsAnyOther) {
  TestTensor<float> w({3}, 1), other({3}, 1), unused({3}, 1000);
  std::vector<TestTensor<float>> grads;
  auto halves = makeOptimizer(initialRule(), {w.view()});
  auto whole = makeOptimizer(initialRule(), {other.view()});
  for (int step = 0; step < 6; ++step) {
    grads.emplace_back(std::vector<int64_t>{3}, static_cast<float>(step + 1));
    const upd_tensor grad = grads.back().view();
    ASSERT_EQ(prepareText(*halves, {unused.view()}), "ok");
    if (step % 3 == 2) {
      ASSERT_EQ(textOf(halves->step(&grad, 1)), "ok");
    } else {
      ASSERT_EQ(prepareText(*halves, {grad}), "ok");
      ASSERT_EQ(textOf(halves->apply(nullptr)), "ok");
    }
    ASSERT_EQ(textOf(whole->step(&grad, 1)), "ok");
    EXPECT_EQ(w.data, other.data) << "step " << step;
  }
  EXPECT_EQ(stepsOf(*halves), 6);
}

TEST(OptimizerPrepare, GradientsOfRowsAndOfWholeParameters) {
  TestTensor<float> a({2}, 1), b({3, 1}, 1), ga({2}, 2), gb({1, 1}, 2);
  auto optimizer = makeOptimizer(momentumRule(), {a.view(), b.view()});
  int64_t index = 2;
  const std::vector<upd_tensor> grads = {ga.view(), absentGradient()};
  for (int step = 0; step < 3; ++step) {
    const std::vector<float> before = b.data;
    // The arrays that list gradients are destroyed.
    upd_row_grad rows{1, &index, 1, gb.view(), 0};
    std::vector<upd_tensor> listed = grads;
    ASSERT_EQ(textOf(optimizer->prepare(StepGradients::withRows(listed.data(), 2, &rows, 1))),
              "ok");
    listed.assign(2, absentGradient());
    rows = {};
    EXPECT_EQ(b.data, before);
    ASSERT_EQ(textOf(optimizer->apply(nullptr)), "ok");
    EXPECT_EQ(a.data[1], b.data[2]);
    EXPECT_NE(b.data[2], before[2]);
    EXPECT_EQ(b.data[1], 1);
  }
  // Only rows.
  const upd_row_grad rows{1, &index, 1, gb.view(), 0};
  ASSERT_EQ(textOf(optimizer->prepare(StepGradients::withRows(nullptr, 0, &rows, 1))), "ok");
  ASSERT_EQ(textOf(optimizer->apply(nullptr)), "ok");
  EXPECT_EQ(stepsOf(*optimizer), 3);
  EXPECT_NE(a.data[1], b.data[2]);
}

TEST(OptimizerPrepare, RowsThatAreNotApplied) {
  TestTensor<float> w({3, 2}, 1), other({3, 2}, 1), g({1, 2}, 1), unused({1, 2}, 1000);
  auto halves = makeOptimizer(initialRule(), {w.view()});
  auto whole = makeOptimizer(initialRule(), {other.view()});
  for (const int64_t index : {0, 1, 1}) {
    const int64_t elsewhere = 2;
    const upd_row_grad notApplied{0, &elsewhere, 1, unused.view(), 0};
    ASSERT_EQ(textOf(halves->prepare(StepGradients::withRows(nullptr, 0, &notApplied, 1))), "ok");
    const upd_row_grad rows{0, &index, 1, g.view(), 0};
    ASSERT_EQ(textOf(halves->prepare(StepGradients::withRows(nullptr, 0, &rows, 1))), "ok");
    ASSERT_EQ(textOf(halves->apply(nullptr)), "ok");
    ASSERT_EQ(textOf(whole->stepRows(nullptr, 0, &rows, 1)), "ok");
    EXPECT_EQ(w.data, other.data);
  }
  EXPECT_EQ(stepsOf(*halves), 3);
}

TEST(OptimizerPrepare, ReductionsOverTensors) {
  TestTensor<float> w({70}, 1), other({70}, 1), g({70}, 3);
  auto halves = makeOptimizer(clipRule(), {w.view()}),
       whole = makeOptimizer(clipRule(), {other.view()});
  const upd_tensor grad = g.view();
  for (int step = 0; step < 2; ++step) {
    ASSERT_EQ(prepareText(*halves, {grad}), "ok");
    ASSERT_EQ(textOf(halves->apply(nullptr)), "ok");
    ASSERT_EQ(textOf(whole->step(&grad, 1)), "ok");
    EXPECT_EQ(w.data, other.data);
  }
}

/// The first half refuses the same steps as a step. Afterwards there is nothing to apply, not even
/// an earlier preparation.
TEST(OptimizerPrepare, RefusesTheSameAsAStep) {
  TestTensor<float> w({4}, 1), g({4}, 2), shorter({3}, 2), values({1}, 2);
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  auto refusal = [&](const std::vector<upd_tensor> &grads) {
    EXPECT_EQ(prepareText(*optimizer, {g.view()}), "ok");
    std::string text = prepareText(*optimizer, grads);
    EXPECT_EQ(textOf(optimizer->apply(nullptr)), notPrepared);
    return text;
  };
  EXPECT_EQ(textOf(optimizer->apply(nullptr)), notPrepared);
  EXPECT_EQ(refusal({w.view()}), "gradient of parameter `0` overlaps parameter `0`; a step only "
                                 "reads gradients, so give it memory of its own");
  EXPECT_EQ(refusal({shorter.view()}), "gradient of parameter `0` is [3], but the parameter is "
                                       "[4]; give a tensor of the same shape and strides");
  EXPECT_EQ(refusal({g.view(), g.view()}),
            "there are 2 gradients for 1 parameter; an absent one has the rank UPD_ABSENT");
  const int64_t index = 4;
  const upd_row_grad rows{0, &index, 1, values.view(), 0};
  EXPECT_EQ(textOf(optimizer->prepare(StepGradients::withRows(nullptr, 0, &rows, 1))),
            "index 0 of parameter `0` is 4, but its rows are from 0 to 3");
  EXPECT_EQ(textOf(optimizer->apply(nullptr)), notPrepared);
  EXPECT_EQ(w.data, std::vector<float>(4, 1));
  EXPECT_EQ(stepsOf(*optimizer), 0);
}

/// Running out of memory for states is reported before anything is written, even in other
/// optimizers.
TEST(OptimizerPrepare, RefusesIfThereIsNotEnoughMemory) {
  // More than a process can have. It is never accessed.
  constexpr int64_t elements = int64_t(1) << 45, bytes = elements * 4;
  TestTensor<float> w({3}, 1), g({3}, 2);
  const int64_t shape[] = {elements};
  upd_tensor huge = w.view(), hugeGrad;
  huge.shape = shape;
  huge.data = reinterpret_cast<void *>(bytes);
  hugeGrad = huge;
  hugeGrad.data = reinterpret_cast<void *>(3 * bytes);
  auto small = makeOptimizer(momentumRule(), {w.view()}),
       large = makeOptimizer(momentumRule(), {huge});
  ASSERT_EQ(prepareText(*small, {g.view()}), "ok");
  const Status status = large->prepare(StepGradients::withRows(&hugeGrad, 1, nullptr, 0));
  EXPECT_EQ(status.code(), UPD_OUT_OF_MEMORY);
  EXPECT_EQ(status.message(), "no memory for 140737488355328 bytes of states");
  EXPECT_EQ(textOf(large->apply(nullptr)), notPrepared);
  EXPECT_EQ(w.data, std::vector<float>(3, 1));
  ASSERT_EQ(textOf(small->apply(nullptr)), "ok");
}

TEST(OptimizerPrepare, IsAbandonedByChangesOfTheOptimizer) {
  TestTensor<float> w({2}, 1), g({2}, 2), buf({2}, 4);
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  const upd_tensor grad = g.view();
  const uint64_t number = 3;
  const std::string path = std::filesystem::temp_directory_path() /
                           ("updraft-prepare-" + std::to_string(getpid()) + ".safetensors");
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  ASSERT_EQ(textOf(optimizer->save(path)), "ok");
  const std::pair<const char *, std::function<Status()>> changes[] = {
      {"setHyper", [&] { return optimizer->setHyper(0, "lr", 0.5); }},
      {"setStep", [&] { return optimizer->setStep(0, 7); }},
      {"setParamNumbers", [&] { return optimizer->setParamNumbers(&number, 1); }},
      {"setSeed", [&] { return optimizer->setSeed(1), Status(); }},
      {"bindState", [&] { return optimizer->bindState(0, "buf", buf.view()); }},
      {"load", [&] { return optimizer->load(path); }},
      {"step", [&] { return optimizer->step(&grad, 1); }},
  };
  for (const auto &[name, change] : changes) {
    ASSERT_EQ(prepareText(*optimizer, {grad}), "ok") << name;
    ASSERT_EQ(textOf(change()), "ok") << name;
    const std::vector<float> before = w.data;
    EXPECT_EQ(textOf(optimizer->apply(nullptr)), notPrepared) << name;
    EXPECT_EQ(w.data, before) << name;
  }
  // Calls that change nothing keep the preparation.
  ASSERT_EQ(prepareText(*optimizer, {grad}), "ok");
  EXPECT_EQ(textOf(optimizer->setHyper(0, "lr", -1)), "Invalid learning rate: -1.0");
  EXPECT_FALSE(optimizer->setStep(0, -1).ok());
  EXPECT_FALSE(optimizer->load(path + ".none").ok());
  EXPECT_EQ(textOf(optimizer->apply(nullptr)), "ok");
  std::filesystem::remove(path);
}
