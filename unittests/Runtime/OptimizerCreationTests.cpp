//===- OptimizerCreationTests.cpp - Errors when an optimizer is created -----------------------===//

#include "FakeRules.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

std::string refusal(const std::vector<upd_group> &groups, upd_status expected) {
  std::unique_ptr<Optimizer> optimizer;
  Status status =
      CpuOptimizer::create(momentumRule(), groups.data(), groups.size(), nullptr, optimizer);
  EXPECT_EQ(status.code(), expected);
  EXPECT_EQ(optimizer == nullptr, !status.ok());
  return textOf(status);
}

std::string refusalOf(const std::vector<upd_tensor> &params,
                      upd_status expected = UPD_INVALID_ARGUMENT) {
  return refusal({groupOf(params)}, expected);
}

std::string refusalWith(const std::vector<upd_hyper> &hypers, upd_status expected) {
  upd_group group{};
  group.hypers = hypers.data();
  group.hyper_count = hypers.size();
  return refusal({group}, expected);
}

} // namespace

TEST(OptimizerCreation, Accepts) {
  TestTensor<float> a({2, 3}), b({0}), c({});
  EXPECT_EQ(refusalOf({a.view(), b.view(), c.view()}, UPD_OK), "ok");
  EXPECT_EQ(refusalOf({}, UPD_OK), "ok");
  EXPECT_EQ(refusal({}, UPD_OK), "ok");
  upd_tensor empty = b.view();
  empty.data = nullptr;
  EXPECT_EQ(refusalOf({empty, empty}, UPD_OK), "ok");
}

TEST(OptimizerCreation, RefusesTensors) {
  TestTensor<float> a({4}), b({4});
  auto with = [&](auto change) {
    upd_tensor tensor = b.view();
    change(tensor);
    return std::vector<upd_tensor>{a.view(), tensor};
  };
  EXPECT_EQ(refusalOf(with([](upd_tensor &t) { t.dtype = UPD_F64; })),
            "parameter `1` is f64, but the rule is compiled for f32 parameters; convert it, or "
            "compile the rule with this storage type");
  EXPECT_EQ(refusalOf(with([](upd_tensor &t) { t.dtype = static_cast<upd_dtype>(3 + 9); })),
            "parameter `1` has the unknown dtype 12; the values are those of upd_dtype");
  EXPECT_EQ(refusalOf(with([](upd_tensor &t) { t.device = UPD_CUDA; }), UPD_UNSUPPORTED),
            "parameter `1` is on cuda:0, but the rule is compiled for the CPU; copy it "
            "there");
  EXPECT_EQ(refusalOf(with([](upd_tensor &t) { t.read_only = 1; })),
            "parameter `1` is read-only, but a step writes it; give a copy that is not");
  EXPECT_EQ(refusalOf(with([](upd_tensor &t) { t.data = nullptr; })),
            "parameter `1` has 4 elements, but its data is null");
  EXPECT_EQ(refusalOf(with([](upd_tensor &t) { t.data = static_cast<char *>(t.data) + 2; })),
            "parameter `1` is not aligned: f32 elements start at multiples of 4 bytes");
  EXPECT_EQ(
      refusalOf(with([](upd_tensor &t) { t.data = reinterpret_cast<void *>(~uintptr_t(0) - 7); })),
      "parameter `1` reaches beyond the end of memory");
  EXPECT_EQ(refusalOf(with([](upd_tensor &t) { t.rank = -1; })),
            "parameter `1` has rank -1; a rank is from 0 to 64");
  const int64_t two = 2;
  EXPECT_EQ(refusalOf(with([&](upd_tensor &t) { t.strides = &two; })),
            "parameter `1` is not dense: [4] with strides [2]; give a contiguous tensor, or each "
            "part that is one");
  EXPECT_EQ(refusalOf(with([&](upd_tensor &t) { t.data = a.data.data(); })),
            "parameters `0` and `1` overlap in memory; give each tensor once");
  const int64_t one = 1;
  EXPECT_EQ(refusalOf(with([&](upd_tensor &t) {
              t.data = a.data.data() + 3;
              t.shape = &one;
            })),
            "parameters `0` and `1` overlap in memory; give each tensor once");
}

TEST(OptimizerCreation, RefusesNamesAndNulls) {
  TestTensor<float> a({4}), b({4});
  const std::vector<upd_tensor> params = {a.view(), b.view()};
  upd_group group = groupOf(params);
  const char *same[] = {"w", "w"}, *null[] = {"w", nullptr}, *empty[] = {"w", ""};
  group.names = same;
  EXPECT_EQ(refusal({group}, UPD_INVALID_ARGUMENT),
            "two parameters have the name `w`; names are unique over all groups");
  group.names = null;
  EXPECT_EQ(refusal({group}, UPD_INVALID_ARGUMENT), "the name of parameter 1 of group 0 is null");
  const char *const bytes[] = {"w", "\xff"};
  group.names = bytes;
  EXPECT_EQ(refusal({group}, UPD_INVALID_ARGUMENT),
            "the name of parameter 1 of group 0 is not UTF-8, which files of states require");
  group.names = empty;
  EXPECT_EQ(refusal({group}, UPD_INVALID_ARGUMENT), "the name of a parameter is empty");
  group.params = nullptr;
  EXPECT_EQ(refusal({group}, UPD_INVALID_ARGUMENT),
            "params of group 0 is null, but param_count is 2");
  group = {};
  group.hyper_count = 3;
  EXPECT_EQ(refusal({group}, UPD_INVALID_ARGUMENT),
            "hypers of group 0 is null, but hyper_count is 3");
  std::unique_ptr<Optimizer> optimizer;
  EXPECT_EQ(textOf(CpuOptimizer::create(momentumRule(), nullptr, 2, nullptr, optimizer)),
            "groups is null, but group_count is 2");
  const upd_pool noPool{};
  EXPECT_EQ(textOf(CpuOptimizer::create(momentumRule(), nullptr, 0, &noPool, optimizer)),
            "run or thread_count of the pool is null; give both, or no pool");
}

TEST(OptimizerCreation, RefusesHyperparameters) {
  EXPECT_EQ(refusalWith({{"lr", -1}}, UPD_INVALID_ARGUMENT), "Invalid learning rate: -1.0");
  EXPECT_EQ(refusalWith({{"momentum", 1}}, UPD_INVALID_ARGUMENT),
            "{momentum} is 1.0, not in [0, 1)");
  EXPECT_EQ(refusalWith({{"lr", std::nan("")}}, UPD_INVALID_ARGUMENT),
            "hyperparameter `lr` is NaN");
  EXPECT_EQ(refusalWith({{"momentun", 0.5}}, UPD_NOT_FOUND),
            "rule `Momentum` has no hyperparameter `momentun`; did you mean `momentum`?");
  EXPECT_EQ(refusalWith({{"x", 0.5}}, UPD_NOT_FOUND),
            "rule `Momentum` has no hyperparameter `x`; there are `lr`, `momentum`");
  EXPECT_EQ(refusalWith({{nullptr, 0.5}}, UPD_INVALID_ARGUMENT),
            "the name of a hyperparameter is null");
  EXPECT_EQ(refusalWith({{"lr", 0.5}, {"lr", 0.5}}, UPD_INVALID_ARGUMENT),
            "hyperparameter `lr` of group 0 is given twice; give it once");
  EXPECT_EQ(refusalWith({{"lr", std::numeric_limits<double>::infinity()}}, UPD_OK), "ok");
}

TEST(OptimizerCreation, SettingHyperparameters) {
  TestTensor<float> a({4});
  auto optimizer = makeOptimizer(momentumRule(), {a.view()});
  double value = 0;
  EXPECT_EQ(textOf(optimizer->getHyper(0, "lr", value)), "ok");
  EXPECT_EQ(value, 0.1);
  EXPECT_EQ(textOf(optimizer->setHyper(0, "lr", -2)), "Invalid learning rate: -2.0");
  EXPECT_EQ(textOf(optimizer->setHyper(0, "lr", std::nan(""))), "hyperparameter `lr` is NaN");
  EXPECT_EQ(textOf(optimizer->setHyper(1, "lr", 1)), "group 1 does not exist; the optimizer has 1");
  EXPECT_EQ(textOf(optimizer->getHyper(0, "lrs", value)),
            "rule `Momentum` has no hyperparameter `lrs`; did you mean `lr`?");
  EXPECT_EQ(textOf(optimizer->getHyper(0, "lr", value)), "ok");
  EXPECT_EQ(value, 0.1);
  EXPECT_EQ(textOf(optimizer->setHyper(0, "lr", 0.25)), "ok");
  EXPECT_EQ(textOf(optimizer->getHyper(0, "lr", value)), "ok");
  EXPECT_EQ(value, 0.25);
}

TEST(OptimizerCreation, SettingSeveralHyperparametersAtOnce) {
  TestTensor<float> a({4});
  auto optimizer = makeOptimizer(momentumRule(), {a.view()});
  const auto set = [&](std::vector<upd_hyper> hypers) {
    return textOf(optimizer->setHypers(0, hypers.data(), hypers.size()));
  };
  EXPECT_EQ(set({{"lr", 0.25}, {"momentum", 1.5}}), "{momentum} is 1.5, not in [0, 1)");
  EXPECT_EQ(set({{"lr", 0.25}, {"x", 1}}),
            "rule `Momentum` has no hyperparameter `x`; there are `lr`, `momentum`");
  EXPECT_EQ(set({{"lr", 0.25}, {"lr", 0.5}}),
            "hyperparameter `lr` of group 0 is given twice; give it once");
  double value = 0;
  EXPECT_EQ(textOf(optimizer->getHyper(0, "lr", value)), "ok");
  EXPECT_EQ(value, 0.1); // nothing was set
  EXPECT_EQ(set({}), "ok");
  EXPECT_EQ(set({{"momentum", 0.75}, {"lr", 0.25}}), "ok");
  EXPECT_EQ(textOf(optimizer->getHyper(0, "lr", value)), "ok");
  EXPECT_EQ(value, 0.25);
  EXPECT_EQ(textOf(optimizer->getHyper(0, "momentum", value)), "ok");
  EXPECT_EQ(value, 0.75);
}

TEST(OptimizerCreation, SaysThatANameIsAStaticFlag) {
  auto kernels = std::make_shared<Kernels>(*momentumRule());
  kernels->interface.statics = {{"nesterov", "false"}};
  TestTensor<float> a({4});
  auto optimizer = makeOptimizer(kernels, {a.view()});
  EXPECT_EQ(textOf(optimizer->setHyper(0, "nesterov", 1)),
            "`nesterov` is a static flag of rule `Momentum`, not a hyperparameter; give it when "
            "the rule is compiled: `compile(defaults=...)` in Python, `--set` on the command line");
}
