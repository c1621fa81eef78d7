//===- OptimizerCAPITests.cpp - The C functions over the step engine --------------------------===//

#include "FakeRules.h"
#include "runtime/capi/Handles.h"
#include "updraft-c/optimizer.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

using namespace updraft::runtime::test;

namespace {

std::string refusal(upd_status status, upd_status expected = UPD_INVALID_ARGUMENT) {
  EXPECT_EQ(status, expected);
  return upd_last_error();
}

struct Fixture {
  upd_rule rule{momentumRule(), UPD_COMPILED};
  TestTensor<float> w{{3}, 1}, g{{3}, 2};
  std::vector<upd_tensor> params{w.view()};
  upd_group group = groupOf(params);
  upd_optimizer *optimizer = nullptr;

  explicit Fixture(const upd_pool *pool = nullptr) {
    EXPECT_EQ(upd_optimizer_create(&rule, &group, 1, pool, &optimizer), UPD_OK);
  }
  ~Fixture() { upd_optimizer_release(optimizer); }
};

} // namespace

TEST(OptimizerCAPI, Steps) {
  Fixture f;
  EXPECT_EQ(upd_optimizer_param_count(f.optimizer), 1u);
  EXPECT_EQ(upd_optimizer_group_count(f.optimizer), 1u);
  const upd_tensor grad = f.g.view();
  ASSERT_EQ(upd_optimizer_step(f.optimizer, &grad, 1), UPD_OK);
  EXPECT_EQ(f.w.data[0], 1 - 0.1f * 2);
  double lr;
  ASSERT_EQ(upd_optimizer_set_hyper(f.optimizer, 0, "lr", 0.5), UPD_OK);
  ASSERT_EQ(upd_optimizer_get_hyper(f.optimizer, 0, "lr", &lr), UPD_OK);
  EXPECT_EQ(lr, 0.5);
  int64_t step;
  ASSERT_EQ(upd_optimizer_set_step(f.optimizer, 0, 5), UPD_OK);
  ASSERT_EQ(upd_optimizer_get_step(f.optimizer, 0, &step), UPD_OK);
  uint64_t seed = 1;
  ASSERT_EQ(upd_optimizer_get_seed(f.optimizer, &seed), UPD_OK);
  EXPECT_EQ(seed, 0u);
  ASSERT_EQ(upd_optimizer_set_seed(f.optimizer, ~uint64_t(0)), UPD_OK);
  ASSERT_EQ(upd_optimizer_get_seed(f.optimizer, &seed), UPD_OK);
  EXPECT_EQ(seed, ~uint64_t(0));
  EXPECT_EQ(step, 5);
  int64_t steps[1] = {0};
  ASSERT_EQ(upd_optimizer_get_steps(f.optimizer, steps, 1), UPD_OK);
  EXPECT_EQ(steps[0], 5);
  upd_tensor state;
  ASSERT_EQ(upd_optimizer_state(f.optimizer, 0, "buf", &state), UPD_OK);
  EXPECT_EQ(static_cast<float *>(state.data)[0], 2);
  EXPECT_EQ(refusal(upd_optimizer_set_hyper(f.optimizer, 0, "lr", -1)),
            "Invalid learning rate: -1.0");
}

TEST(OptimizerCAPI, StepsInHalves) {
  Fixture f;
  const upd_tensor grad = f.g.view();
  ASSERT_EQ(upd_optimizer_prepare_rows(f.optimizer, &grad, 1, nullptr, 0), UPD_OK);
  EXPECT_EQ(f.w.data[0], 1);
  ASSERT_EQ(upd_optimizer_apply(f.optimizer), UPD_OK);
  EXPECT_EQ(f.w.data[0], 1 - 0.1f * 2);
  EXPECT_EQ(refusal(upd_optimizer_apply(f.optimizer)),
            "no step is prepared: none was, it was refused or applied, or the optimizer has "
            "changed since");
}

TEST(OptimizerCAPI, ChangesNothingWhereInfinitiesWereFound) {
  Fixture f;
  const upd_tensor grad = f.g.view();
  float found = 1;
  upd_tensor number{};
  number.data = &found;
  number.device = UPD_CPU;
  ASSERT_EQ(upd_optimizer_bind_found_inf(f.optimizer, &number), UPD_OK);
  ASSERT_EQ(upd_optimizer_step(f.optimizer, &grad, 1), UPD_OK);
  EXPECT_EQ(f.w.data[0], 1);
  upd_tensor state;
  EXPECT_EQ(upd_optimizer_state(f.optimizer, 0, "buf", &state), UPD_NOT_FOUND);
  ASSERT_EQ(upd_optimizer_prepare_rows(f.optimizer, &grad, 1, nullptr, 0), UPD_OK);
  ASSERT_EQ(upd_optimizer_apply(f.optimizer), UPD_OK);
  EXPECT_EQ(f.w.data[0], 1);
  found = 0;
  ASSERT_EQ(upd_optimizer_step(f.optimizer, &grad, 1), UPD_OK);
  EXPECT_EQ(f.w.data[0], 1 - 0.1f * 2);
  found = 1;
  ASSERT_EQ(upd_optimizer_bind_found_inf(f.optimizer, nullptr), UPD_OK);
  ASSERT_EQ(upd_optimizer_step(f.optimizer, &grad, 1), UPD_OK);
  int64_t step;
  ASSERT_EQ(upd_optimizer_get_step(f.optimizer, 0, &step), UPD_OK);
  EXPECT_EQ(step, 2);
}

TEST(OptimizerCAPI, ReadsAHyperparameterAtEachStep) {
  Fixture f;
  const upd_tensor grad = f.g.view();
  float lr = 0.25f;
  upd_tensor number{};
  number.data = &lr;
  number.device = UPD_CPU;
  ASSERT_EQ(upd_optimizer_bind_hyper(f.optimizer, 0, "lr", &number), UPD_OK);
  ASSERT_EQ(upd_optimizer_step(f.optimizer, &grad, 1), UPD_OK);
  EXPECT_EQ(f.w.data[0], 1 - 0.25f * 2);
  lr = -1;
  EXPECT_EQ(refusal(upd_optimizer_step(f.optimizer, &grad, 1)), "Invalid learning rate: -1.0");
  ASSERT_EQ(upd_optimizer_set_hyper(f.optimizer, 0, "lr", 0), UPD_OK);
  ASSERT_EQ(upd_optimizer_step(f.optimizer, &grad, 1), UPD_OK); // the binding is removed
  EXPECT_EQ(f.w.data[0], 1 - 0.25f * 2);
}

TEST(OptimizerCAPI, BindsAllHyperparametersOrNone) {
  Fixture f;
  upd_tensor grad = f.g.view();
  float lr = 0.25, momentum = std::numeric_limits<float>::quiet_NaN();
  for (auto [name, data] : {std::pair("lr", &lr), {"momentum", &momentum}}) {
    upd_tensor number{};
    number.data = data;
    number.device = UPD_CPU;
    ASSERT_EQ(upd_optimizer_bind_hyper(f.optimizer, 0, name, &number), UPD_OK);
  }
  EXPECT_EQ(refusal(upd_optimizer_step(f.optimizer, &grad, 1)), "hyperparameter `momentum` is NaN");
  double value;
  ASSERT_EQ(upd_optimizer_get_hyper(f.optimizer, 0, "lr", &value), UPD_OK);
  EXPECT_EQ(value, 0.1);
  momentum = 0;
  ASSERT_EQ(upd_optimizer_step(f.optimizer, &grad, 1), UPD_OK);
  EXPECT_EQ(f.w.data[0], 1 - 0.25f * 2);
}

TEST(OptimizerCAPI, IgnoresRequirements) {
  Fixture f;
  const upd_tensor grad = f.g.view();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ASSERT_EQ(upd_optimizer_ignore_requirements(f.optimizer), UPD_OK);
  ASSERT_EQ(upd_optimizer_set_hyper(f.optimizer, 0, "momentum", 2), UPD_OK);
  ASSERT_EQ(upd_optimizer_set_hyper(f.optimizer, 0, "lr", -1), UPD_OK);
  ASSERT_EQ(upd_optimizer_step(f.optimizer, &grad, 1), UPD_OK);
  EXPECT_EQ(f.w.data[0], 1 + 2);
  float lr = -0.5f;
  upd_tensor number{};
  number.data = &lr;
  number.device = UPD_CPU;
  ASSERT_EQ(upd_optimizer_bind_hyper(f.optimizer, 0, "lr", &number), UPD_OK);
  ASSERT_EQ(upd_optimizer_step(f.optimizer, &grad, 1), UPD_OK);
  EXPECT_EQ(f.w.data[0], 3 + 0.5f * (2 * 2 + 2));
  // A file contains them unchanged, and an optimizer that loads it has them too.
  const std::string path = ::testing::TempDir() + "ignored-requirements.safetensors";
  ASSERT_EQ(upd_optimizer_save(f.optimizer, path.c_str()), UPD_OK);
  Fixture checked, other;
  EXPECT_NE(refusal(upd_optimizer_load(checked.optimizer, path.c_str()))
                .find("Invalid learning rate: -0.5"),
            std::string::npos);
  ASSERT_EQ(upd_optimizer_ignore_requirements(other.optimizer), UPD_OK);
  ASSERT_EQ(upd_optimizer_load(other.optimizer, path.c_str()), UPD_OK);
  double value;
  ASSERT_EQ(upd_optimizer_get_hyper(other.optimizer, 0, "lr", &value), UPD_OK);
  EXPECT_EQ(value, -0.5);
  // Loading doesn't restore the checks.
  ASSERT_EQ(upd_optimizer_set_hyper(other.optimizer, 0, "lr", nan), UPD_OK);
  ASSERT_EQ(upd_optimizer_step(other.optimizer, &grad, 1), UPD_OK);
  EXPECT_TRUE(std::isnan(other.w.data[0]));
  EXPECT_EQ(refusal(upd_optimizer_set_hyper(other.optimizer, 0, "rate", 1), UPD_NOT_FOUND),
            "rule `Momentum` has no hyperparameter `rate`; there are `lr`, `momentum`");
  EXPECT_EQ(refusal(upd_optimizer_ignore_requirements(nullptr)), "optimizer is null");
}

TEST(OptimizerCAPI, RefusesInvalidBindings) {
  Fixture f;
  float value[2] = {};
  const int64_t shape[] = {2};
  upd_tensor number{};
  number.data = value;
  number.device = UPD_CUDA;
  number.device_index = 1;
  EXPECT_EQ(
      refusal(upd_optimizer_bind_hyper(f.optimizer, 0, "lr", &number), UPD_UNSUPPORTED),
      "hyperparameter `lr` is on cuda:1, but the rule is compiled for the CPU; copy it there");
  EXPECT_EQ(refusal(upd_optimizer_bind_found_inf(f.optimizer, &number), UPD_UNSUPPORTED),
            "found_inf is on cuda:1, but the rule is compiled for the CPU; copy it there");
  number.device = UPD_CPU;
  EXPECT_EQ(refusal(upd_optimizer_bind_hyper(f.optimizer, 0, "rate", &number), UPD_NOT_FOUND),
            "rule `Momentum` has no hyperparameter `rate`; there are `lr`, `momentum`");
  EXPECT_EQ(refusal(upd_optimizer_bind_hyper(f.optimizer, 7, "lr", &number)),
            "group 7 does not exist; the optimizer has 1");
  number.dtype = UPD_I8;
  EXPECT_EQ(refusal(upd_optimizer_bind_hyper(f.optimizer, 0, "lr", &number)),
            "hyperparameter `lr` is i8; it is read as f32, f64, bf16 or f16");
  EXPECT_EQ(refusal(upd_optimizer_bind_found_inf(f.optimizer, &number)),
            "found_inf is not f32; give a float, as torch's GradScaler has it");
  number.dtype = UPD_F32;
  number.rank = 1;
  number.shape = shape;
  EXPECT_EQ(refusal(upd_optimizer_bind_hyper(f.optimizer, 0, "lr", &number)),
            "expected a tensor of one element for hyperparameter `lr`");
  EXPECT_EQ(refusal(upd_optimizer_set_stream(f.optimizer, value)),
            "the parameters are on the CPU, which has no streams");
  EXPECT_EQ(refusal(upd_optimizer_bind_step(f.optimizer, 0, &number)),
            "the parameters are on the CPU, where the optimizer has the step counts; set them with "
            "upd_optimizer_set_step");
}

TEST(OptimizerCAPI, RefusesNull) {
  Fixture f;
  upd_optimizer *made = f.optimizer;
  EXPECT_EQ(refusal(upd_optimizer_create(nullptr, &f.group, 1, nullptr, &made)), "rule is null");
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(refusal(upd_optimizer_create(&f.rule, &f.group, 1, nullptr, nullptr)),
            "optimizer, where the result goes, is null");
  upd_optimizer *const none = nullptr;
  upd_tensor tensor = f.g.view();
  double value;
  int64_t step;
  EXPECT_EQ(refusal(upd_optimizer_step(none, &tensor, 1)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_prepare_rows(none, &tensor, 1, nullptr, 0)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_prepare_rows(f.optimizer, nullptr, 1, nullptr, 0)),
            "grads is null, but grad_count is 1");
  EXPECT_EQ(refusal(upd_optimizer_apply(none)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_set_stream(none, nullptr)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_bind_found_inf(none, nullptr)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_bind_hyper(none, 0, "lr", nullptr)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_bind_hyper(f.optimizer, 0, nullptr, nullptr)),
            "the name of a hyperparameter is null");
  EXPECT_EQ(refusal(upd_optimizer_bind_step(f.optimizer, 0, nullptr)), "count is null");
  EXPECT_EQ(refusal(upd_optimizer_get_hyper(none, 0, "lr", &value)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_set_hyper(none, 0, "lr", 1)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_set_hypers(none, 0, nullptr, 0)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_set_hypers(f.optimizer, 0, nullptr, 2)),
            "hypers of group 0 is null, but hyper_count is 2");
  EXPECT_EQ(refusal(upd_optimizer_get_step(none, 0, &step)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_set_seed(none, 1)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_set_param_numbers(none, nullptr, 0)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_set_param_numbers(f.optimizer, nullptr, 1)),
            "numbers is null, but count is 1");
  const uint64_t numbers[] = {1, 2};
  EXPECT_EQ(refusal(upd_optimizer_set_param_numbers(f.optimizer, numbers, 2)),
            "there are 2 numbers of parameters; the optimizer has 1");
  EXPECT_EQ(refusal(upd_optimizer_get_seed(f.optimizer, nullptr)),
            "seed, where the result goes, is null");
  EXPECT_EQ(refusal(upd_optimizer_set_step(none, 0, 1)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_state(none, 0, "buf", &tensor)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_bind_state(none, 0, "buf", &tensor)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_save(none, "x")), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_load(none, "x")), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_step(f.optimizer, nullptr, 1)),
            "grads is null, but grad_count is 1");
  EXPECT_EQ(refusal(upd_optimizer_get_hyper(f.optimizer, 0, nullptr, &value)),
            "the name of a hyperparameter is null");
  EXPECT_EQ(refusal(upd_optimizer_get_hyper(f.optimizer, 0, "lr", nullptr)),
            "value, where the result goes, is null");
  EXPECT_EQ(refusal(upd_optimizer_get_step(f.optimizer, 0, nullptr)),
            "step, where the result goes, is null");
  EXPECT_EQ(refusal(upd_optimizer_get_steps(none, &step, 1)), "optimizer is null");
  EXPECT_EQ(refusal(upd_optimizer_get_steps(f.optimizer, nullptr, 1)),
            "steps, where the results go, is null");
  EXPECT_EQ(refusal(upd_optimizer_get_steps(f.optimizer, &step, 2)),
            "2 step counts are asked for, but the number of parameters is 1");
  EXPECT_EQ(refusal(upd_optimizer_state(f.optimizer, 0, nullptr, &tensor)),
            "the name of a state is null");
  EXPECT_EQ(refusal(upd_optimizer_state(f.optimizer, 0, "buf", nullptr)),
            "tensor, where the result goes, is null");
  EXPECT_EQ(refusal(upd_optimizer_bind_state(f.optimizer, 0, "buf", nullptr)), "tensor is null");
  EXPECT_EQ(refusal(upd_optimizer_save(f.optimizer, nullptr)), "path is null");
  EXPECT_EQ(refusal(upd_optimizer_load(f.optimizer, nullptr)), "path is null");
  upd_optimizer_release(nullptr);
  EXPECT_EQ(upd_optimizer_param_count(nullptr), 0u);
  EXPECT_EQ(upd_optimizer_group_count(nullptr), 0u);
}

TEST(OptimizerCAPI, ThrowsNoExceptions) {
  upd_pool pool;
  pool.run = [](void *, int32_t, void (*)(void *, int32_t), void *) {
    throw std::runtime_error("the host's pool failed");
  };
  pool.thread_count = [](void *) -> int32_t { return 2; };
  pool.pool = nullptr;
  upd_rule rule{momentumRule(), UPD_COMPILED};
  TestTensor<float> w({100000}, 1), g({100000}, 1);
  const std::vector<upd_tensor> params = {w.view()};
  const upd_group group = groupOf(params);
  upd_optimizer *optimizer = nullptr;
  ASSERT_EQ(upd_optimizer_create(&rule, &group, 1, &pool, &optimizer), UPD_OK);
  const upd_tensor grad = g.view();
  EXPECT_EQ(refusal(upd_optimizer_step(optimizer, &grad, 1), UPD_INTERNAL_ERROR),
            "the host's pool failed");
  upd_optimizer_release(optimizer);
}
