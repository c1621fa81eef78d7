//===- OptimizerStateTests.cpp - Views of states, bound states, step counts -------------------===//

#include "FakeRules.h"

#include <gtest/gtest.h>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

TEST(OptimizerState, HasTheLayoutOfItsParameter) {
  TestTensor<float> w({2, 3}, 1), g({2, 3}, 1);
  w.strides = g.strides = {1, 2};
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  const upd_tensor grad = g.view();
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  upd_tensor state;
  ASSERT_EQ(textOf(optimizer->state(0, "buf", state)), "ok");
  EXPECT_EQ(state.rank, 2);
  EXPECT_EQ(state.shape[1], 3);
  EXPECT_EQ(state.strides[1], 2);
  EXPECT_EQ(state.dtype, UPD_F32);
  EXPECT_EQ(state.device, UPD_CPU);
}

TEST(OptimizerState, Names) {
  TestTensor<float> w({2});
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  upd_tensor state;
  EXPECT_EQ(textOf(optimizer->state(0, "bug", state)),
            "rule `Momentum` has no state `bug`; did you mean `buf`?");
  EXPECT_EQ(textOf(optimizer->state(0, nullptr, state)), "the name of a state is null");
  EXPECT_EQ(textOf(optimizer->state(1, "buf", state)),
            "parameter 1 does not exist; the optimizer has 1");
}

TEST(OptimizerState, BoundMemoryIsTheState) {
  TestTensor<float> w({3}, 1), g({3}, 2), buf({3}, 4);
  auto optimizer = makeOptimizer(momentumRule(), {w.view()});
  ASSERT_EQ(textOf(optimizer->bindState(0, "buf", buf.view())), "ok");
  const upd_tensor grad = g.view();
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  EXPECT_EQ(buf.data, std::vector<float>(3, 0.5f * 4 + 2)); // not a first step
  TestTensor<float> other({3}, 0);
  ASSERT_EQ(textOf(optimizer->bindState(0, "buf", other.view())), "ok");
  ASSERT_EQ(textOf(optimizer->bindState(0, "buf", other.view())), "ok");
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  EXPECT_EQ(other.data, std::vector<float>(3, 2));
  EXPECT_EQ(buf.data, std::vector<float>(3, 4));
}

TEST(OptimizerState, BindingRefuses) {
  TestTensor<float> a({4}), b({4}), g({4}), buf({4}), small({3});
  auto optimizer = makeOptimizer(momentumRule(), {a.view(), b.view()});
  auto refusal = [&](const upd_tensor &tensor) {
    Status status = optimizer->bindState(0, "buf", tensor);
    EXPECT_EQ(status.code(), UPD_INVALID_ARGUMENT);
    return status.message();
  };
  EXPECT_EQ(refusal(small.view()), "state `buf` of parameter `0` is [3], but the parameter is [4]; "
                                   "give a tensor of the same shape and strides");
  EXPECT_EQ(refusal(buf.view(UPD_F16)),
            "state `buf` of parameter `0` is f16, but the rule is compiled for f32 states of this "
            "name; convert it, or compile the rule with this storage type");
  upd_tensor readOnly = buf.view();
  readOnly.read_only = 1;
  EXPECT_EQ(refusal(readOnly), "state `buf` of parameter `0` is read-only, but a step writes it; "
                               "give a copy that is not");
  EXPECT_EQ(refusal(b.view()),
            "state `buf` of parameter `0` overlaps parameter `1`; give it memory of its own");
  ASSERT_EQ(textOf(optimizer->bindState(1, "buf", buf.view())), "ok");
  EXPECT_EQ(refusal(buf.view()), "state `buf` of parameter `0` overlaps state `buf` of parameter "
                                 "`1`; give it memory of its own");
  // A valid gradient until its memory became a state.
  const std::vector<upd_tensor> grads = {g.view(), absentGradient()};
  ASSERT_EQ(textOf(optimizer->step(grads.data(), 2)), "ok");
  ASSERT_EQ(textOf(optimizer->bindState(0, "buf", g.view())), "ok");
  EXPECT_EQ(textOf(optimizer->step(grads.data(), 2)),
            "gradient of parameter `0` overlaps state `buf` of parameter `0`; a step only reads "
            "gradients, so give it memory of its own");
}

TEST(OptimizerState, RebindingRefusesOtherOverlaps) {
  // Four floats for the state of each of two parameters, adjacent in memory.
  std::vector<float> memory(8), first(4), second(4);
  const int64_t shape[] = {4};
  auto view = [&](float *data) {
    return upd_tensor{data, shape, nullptr, 1, UPD_F32, UPD_CPU, 0, 0};
  };
  auto optimizer = makeOptimizer(momentumRule(), {view(first.data()), view(second.data())});
  ASSERT_EQ(textOf(optimizer->bindState(0, "buf", view(memory.data()))), "ok");
  ASSERT_EQ(textOf(optimizer->bindState(1, "buf", view(memory.data() + 4))), "ok");
  EXPECT_EQ(textOf(optimizer->bindState(0, "buf", view(memory.data() + 2))),
            "state `buf` of parameter `0` overlaps state `buf` of parameter `1`; give it memory of "
            "its own");
  EXPECT_EQ(textOf(optimizer->bindState(0, "buf", view(memory.data()))), "ok");
}

TEST(OptimizerState, InitialValuesAreOfBoundHyperparameters) {
  TestTensor<float> w({2}, 1);
  auto optimizer = makeOptimizer(initialRule(), {w.view()});
  double value = 0;
  ASSERT_EQ(textOf(optimizer->initialValue(0, "size", value)), "ok");
  EXPECT_EQ(value, 0.25);
  float lr = 3;
  upd_tensor number{};
  number.data = &lr;
  number.device = UPD_CPU;
  ASSERT_EQ(textOf(optimizer->bindHyper(0, "lr", &number)), "ok");
  ASSERT_EQ(textOf(optimizer->initialValue(0, "size", value)), "ok");
  EXPECT_EQ(value, 3);
}

TEST(OptimizerState, AllBoundOrNone) {
  TestTensor<float> w({2}, 1), g({2}, 1), size({2}, 1);
  auto optimizer = makeOptimizer(initialRule(), {w.view()});
  ASSERT_EQ(textOf(optimizer->bindState(0, "size", size.view())), "ok");
  const upd_tensor grad = g.view(), none = absentGradient();
  EXPECT_EQ(textOf(optimizer->step(&grad, 1)),
            "parameter `0` has state `size` but not `last`; give it all of its states, or none");
  EXPECT_EQ(w.data, std::vector<float>(2, 1));
  // A file would lack the other.
  EXPECT_EQ(textOf(optimizer->save(::testing::TempDir() + "half-bound.safetensors")),
            "parameter `0` has state `size` but not `last`; give it all of its states, or none");
  EXPECT_EQ(textOf(optimizer->step(&none, 1)), "ok");
  std::vector<uint16_t> last(2, 0x3f80);
  upd_tensor lastView = size.view(UPD_BF16);
  lastView.data = last.data();
  ASSERT_EQ(textOf(optimizer->bindState(0, "last", lastView)), "ok");
  EXPECT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  EXPECT_EQ(w.data, std::vector<float>(2, -1));
}

TEST(OptimizerState, ManyAreBoundQuickly) {
  constexpr size_t count = 20000;
  std::vector<float> params(count), states(count), grads(count, 1);
  std::vector<upd_tensor> paramViews(count), gradViews(count);
  for (size_t i = 0; i < count; ++i) {
    paramViews[i].data = &params[i];
    gradViews[i].data = &grads[i];
    paramViews[i].device = gradViews[i].device = UPD_CPU;
  }
  auto optimizer = makeOptimizer(momentumRule(), paramViews);
  for (size_t i = 0; i < count; ++i) {
    upd_tensor view = paramViews[i];
    view.data = &states[(i * 7919) % count];
    ASSERT_EQ(textOf(optimizer->bindState(i, "buf", view)), "ok");
  }
  ASSERT_EQ(textOf(optimizer->step(gradViews.data(), count)), "ok");
  EXPECT_EQ(params, std::vector<float>(count, -0.1f));
  upd_tensor clash = paramViews[0];
  clash.data = &states[0];
  gradViews[5] = clash;
  EXPECT_FALSE(optimizer->step(gradViews.data(), count).ok());
}

TEST(OptimizerState, StepCounts) {
  TestTensor<float> w({2}), g({2});
  auto optimizer = makeOptimizer(skippingRule(), {w.view()});
  const upd_tensor grad = g.view();
  int64_t step = -1;
  EXPECT_EQ(textOf(optimizer->getStep(0, step)), "ok");
  EXPECT_EQ(step, 0);
  EXPECT_EQ(textOf(optimizer->setStep(0, 41)), "ok");
  ASSERT_EQ(textOf(optimizer->step(&grad, 1)), "ok");
  EXPECT_EQ(textOf(optimizer->getStep(0, step)), "ok");
  EXPECT_EQ(step, 42);
  upd_tensor state;
  ASSERT_EQ(textOf(optimizer->state(0, "n", state)), "ok");
  EXPECT_EQ(static_cast<float *>(state.data)[0], 42);
  EXPECT_EQ(textOf(optimizer->setStep(0, -1)), "expected a step count from 0 to 2^53, got -1");
  EXPECT_EQ(textOf(optimizer->setStep(3, 1)), "parameter 3 does not exist; the optimizer has 1");
  EXPECT_EQ(textOf(optimizer->getStep(3, step)), "parameter 3 does not exist; the optimizer has 1");
}

// The step count of a kernel is a double.
TEST(OptimizerState, NoStepCountGoesBeyondTheLargest) {
  const char *refusal = "parameter `1` has taken 2^53 steps, and none is counted beyond; set its "
                        "step count";
  constexpr int64_t largest = int64_t(1) << 53;
  TestTensor<float> a({2}, 1), b({2, 1}, 1), g({2}, 1), rows({1, 1}, 1);
  auto optimizer = makeOptimizer(momentumRule(), {a.view(), b.view()});
  upd_tensor both[] = {g.view(), g.view()};
  both[1].shape = b.view().shape;
  both[1].rank = 2;
  auto expectCounts = [&](int64_t ofA, int64_t ofB) {
    int64_t counts[2] = {};
    ASSERT_EQ(textOf(optimizer->getSteps(counts, 2)), "ok");
    EXPECT_EQ(counts[0], ofA);
    EXPECT_EQ(counts[1], ofB);
  };
  EXPECT_EQ(textOf(optimizer->setStep(0, largest + 1)),
            "expected a step count from 0 to 2^53, got 9007199254740993");

  // The second step, with an unchanged plan, and every later one.
  ASSERT_EQ(textOf(optimizer->setStep(1, largest - 1)), "ok");
  ASSERT_EQ(textOf(optimizer->step(both, 2)), "ok");
  const std::vector<float> beforeA = a.data, beforeB = b.data;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(textOf(optimizer->step(both, 2)), refusal);
    EXPECT_EQ(textOf(optimizer->prepare({.tensors = both, .count = 2})), refusal);
    EXPECT_EQ(optimizer->apply(nullptr).code(), UPD_INVALID_ARGUMENT);
  }
  expectCounts(1, largest);
  EXPECT_EQ(a.data, beforeA);
  EXPECT_EQ(b.data, beforeB);

  // With rows, also together with a whole parameter, and for single parameters.
  const std::vector<int64_t> indices = {1};
  const upd_row_grad row = {1, indices.data(), 1, rows.view(), 0};
  EXPECT_EQ(textOf(optimizer->stepRows(nullptr, 0, &row, 1)), refusal);
  upd_tensor onlyA[] = {g.view(), absentGradient()};
  EXPECT_EQ(textOf(optimizer->stepRows(onlyA, 2, &row, 1)), refusal);
  expectCounts(1, largest);
  EXPECT_EQ(a.data, beforeA);
  ASSERT_EQ(textOf(optimizer->step(onlyA, 2)), "ok");
  expectCounts(2, largest);

  // The saved file can be loaded, and a smaller count continues.
  const std::string path = testing::TempDir() + "largest-step.safetensors";
  ASSERT_EQ(textOf(optimizer->save(path.c_str())), "ok");
  ASSERT_EQ(textOf(optimizer->load(path.c_str())), "ok");
  expectCounts(2, largest);
  EXPECT_EQ(textOf(optimizer->step(both, 2)), refusal);
  ASSERT_EQ(textOf(optimizer->setStep(1, largest - 1)), "ok");
  ASSERT_EQ(textOf(optimizer->step(both, 2)), "ok");
  expectCounts(3, largest);
}
