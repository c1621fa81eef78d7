//===- StepTests.cpp - Steps of updraft::torch::Optimizer
//--------------------------------------===//
// Beside the C API by bits, and beside LibTorch's own optimizers within a tolerance.

#include "TrainedTensors.h"

#include <algorithm>
#include <atomic>

using updraft::torch::Optimizer;
using updraft::torch::Options;

namespace {

updraft::CompileOptions storedAs(const std::string &type, const std::string &state) {
  updraft::CompileOptions options;
  options.storage = {{"param", type}, {"grad", type}, {"state", state}};
  return options;
}

/// Steps with the C API, and the gradients of setGradients.
void stepWithCAPI(const updraft::Rule &rule, const Tensors &params, int steps) {
  std::vector<upd_tensor> views;
  for (const at::Tensor &param : params)
    views.push_back(updraft::torch::detail::viewOf(param, "parameter"));
  upd_group group{views.data(), nullptr, views.size(), nullptr, 0};
  upd_optimizer *optimizer;
  ASSERT_EQ(upd_optimizer_create(rule.get(), &group, 1, nullptr, &optimizer), UPD_OK)
      << upd_last_error();
  for (int step = 0; step < steps; ++step) {
    setGradients(params, step);
    std::vector<upd_tensor> grads;
    for (const at::Tensor &param : params)
      grads.push_back(updraft::torch::detail::viewOf(param.grad(), "gradient"));
    ASSERT_EQ(upd_optimizer_step(optimizer, grads.data(), grads.size()), UPD_OK)
        << upd_last_error();
  }
  upd_optimizer_release(optimizer);
}

struct Stored {
  const char *param;
  const char *state;
  at::ScalarType type;
};

class StoredSteps : public testing::TestWithParam<Stored> {};

TEST_P(StoredSteps, HaveTheBitsOfTheCAPI) {
  const auto rule = ruleOf("adamw", storedAs(GetParam().param, GetParam().state));
  const Tensors ours = parametersOf(GetParam().type), theirs = copiesOf(ours);
  Optimizer optimizer(rule, ours);
  for (int step = 0; step < 5; ++step) {
    setGradients(ours, step);
    optimizer.step();
  }
  stepWithCAPI(*rule, theirs, 5);
  EXPECT_TRUE(haveSameBits(ours, theirs));
  EXPECT_FALSE(haveSameBits(ours, parametersOf(GetParam().type)));
}

INSTANTIATE_TEST_SUITE_P(
    Types, StoredSteps,
    testing::Values(Stored{"f32", "f32", at::kFloat}, Stored{"f64", "f64", at::kDouble},
                    Stored{"bf16", "f32", at::kBFloat16}, Stored{"f16", "f16", at::kHalf},
                    Stored{"f32", "q8_linear", at::kFloat}),
    [](const auto &info) { return std::string(info.param.param) + "_" + info.param.state; });

template <typename Reference> void train(Optimizer &ours, Reference &theirs, int steps) {
  const Tensors &params = ours.param_groups()[0].params();
  const Tensors &references = theirs.param_groups()[0].params();
  for (int step = 0; step < steps; ++step) {
    setGradients(params, step);
    setGradients(references, step);
    ours.step();
    theirs.step();
  }
  for (size_t i = 0; i < params.size(); ++i)
    EXPECT_TRUE(at::allclose(params[i], references[i], 1e-5, 1e-6)) << i;
}

TEST(StepTests, AdamWIsTorchsWithinRounding) {
  const Tensors params = parametersOf(at::kFloat);
  Optimizer ours(ruleOf("adamw"), params, {{"lr", 1e-2}, {"weight_decay", 0.1}});
  torch::optim::AdamW theirs(copiesOf(params), torch::optim::AdamWOptions(1e-2).weight_decay(0.1));
  train(ours, theirs, 50);
}

TEST(StepTests, SGDIsTorchsWithinRounding) {
  const Tensors params = parametersOf(at::kFloat);
  updraft::CompileOptions options;
  options.settings = {{"momentum", "0.9"}};
  Optimizer ours(ruleOf("sgd", options), params, {{"lr", 1e-2}});
  torch::optim::SGD theirs(copiesOf(params), torch::optim::SGDOptions(1e-2).momentum(0.9));
  train(ours, theirs, 50);
}

TEST(StepTests, LayoutsAreKept) {
  // The same values as contiguous tensors, and with other strides.
  const at::Tensor images = at::randn({2, 3, 4, 5}), matrix = at::randn({6, 7});
  const Tensors plain = {asParameter(images), asParameter(matrix)};
  const Tensors others = {images.contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true),
                          matrix.t().contiguous().t().requires_grad_(true)};
  Optimizer first(ruleOf("adamw"), plain), second(ruleOf("adamw"), others);
  for (int step = 0; step < 3; ++step) {
    setGradients(plain, step);
    for (size_t i = 0; i < plain.size(); ++i)
      // One gradient has the parameter's layout, one another.
      others[i].mutable_grad() =
          step == 0 ? plain[i].grad().clone() : at::empty_like(others[i]).copy_(plain[i].grad());
    first.step();
    second.step();
  }
  EXPECT_TRUE(haveSameBits(plain, others));
  EXPECT_EQ(others[0].strides(), images.contiguous(at::MemoryFormat::ChannelsLast).strides());
  EXPECT_EQ(second.state(others[0], "exp_avg").strides(), others[0].strides());
}

TEST(StepTests, ExpandedGradients) {
  const at::Tensor param = at::ones({3, 4}).requires_grad_(true);
  Optimizer optimizer(ruleOf("sgd"), Tensors{param}, {{"lr", 0.5}});
  param.mutable_grad() = at::ones({1, 1}).expand({3, 4});
  optimizer.step();
  EXPECT_TRUE(haveSameBits(param, at::full({3, 4}, 0.5)));
}

TEST(StepTests, ParametersWithoutGradientStayAsTheyAre) {
  const Tensors params = {at::ones({3}).requires_grad_(true), at::ones({3}).requires_grad_(true)};
  Optimizer optimizer(ruleOf("adamw"), params);
  params[1].mutable_grad() = at::ones({3});
  optimizer.step();
  EXPECT_TRUE(haveSameBits(params[0], at::ones({3})));
  EXPECT_FALSE(haveSameBits(params[1], at::ones({3})));
  EXPECT_EQ(optimizer.step_count(params[0]), 0);
  EXPECT_EQ(optimizer.step_count(params[1]), 1);
  EXPECT_EQ(messageOf([&] { optimizer.state(params[0], "exp_avg"); }),
            "parameter `0` has no state yet; it gets it with its first step");
}

TEST(StepTests, ZeroGradLeavesNothingToStep) {
  const at::Tensor param = at::ones({3}).requires_grad_(true);
  Optimizer optimizer(ruleOf("adamw"), Tensors{param});
  param.mutable_grad() = at::ones({3});
  optimizer.zero_grad();
  optimizer.step();
  EXPECT_TRUE(haveSameBits(param, at::ones({3})));
}

TEST(StepTests, ClosureRunsWithGradients) {
  const at::Tensor param = at::ones({3}).requires_grad_(true);
  Optimizer optimizer(ruleOf("sgd"), Tensors{param}, {{"lr", 0.5}});
  const at::NoGradGuard disabled;
  const at::Tensor loss = optimizer.step([&] {
    optimizer.zero_grad();
    at::Tensor result = param.square().sum() / 2;
    result.backward();
    return result;
  });
  EXPECT_EQ(loss.item<float>(), 1.5f);
  EXPECT_TRUE(haveSameBits(param, at::full({3}, 0.5)));
}

TEST(StepTests, AutogradLearnsOfTheStep) {
  const at::Tensor param = at::ones({3}).requires_grad_(true);
  Optimizer optimizer(ruleOf("sgd"), Tensors{param});
  const at::Tensor loss = param.square().sum();
  param.mutable_grad() = at::ones({3});
  optimizer.step();
  EXPECT_THAT(messageOf([&] { loss.backward(); }),
              testing::HasSubstr("modified by an inplace operation"));
}

TEST(StepTests, BitsDontDependOnThreads) {
  const int before = at::get_num_threads();
  Tensors results;
  for (int threads : {1, 3}) {
    at::set_num_threads(threads);
    at::manual_seed(1);
    const at::Tensor param = at::randn({300'000}).requires_grad_(true);
    Optimizer optimizer(ruleOf("adamw"), Tensors{param});
    for (int step = 0; step < 3; ++step) {
      setGradients({param}, step);
      optimizer.step();
    }
    results.push_back(param);
  }
  at::set_num_threads(before);
  EXPECT_TRUE(haveSameBits(results[0], results[1]));
}

TEST(StepTests, PoolRunsEveryTaskOnce) {
  std::vector<std::atomic<int>> calls(1000);
  upd_pool pool = *updraft::torch::intraOpPool();
  EXPECT_EQ(pool.thread_count(pool.pool), at::get_num_threads());
  pool.run(
      pool.pool, 1000,
      [](void *context, int32_t index) {
        ++(*static_cast<std::vector<std::atomic<int>> *>(context))[static_cast<size_t>(index)];
      },
      &calls);
  EXPECT_TRUE(
      std::all_of(calls.begin(), calls.end(), [](const auto &count) { return count == 1; }));
}

TEST(StepTests, ThreadsLookAtManyParameters) {
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  Tensors params(1500);
  for (at::Tensor &param : params)
    param = at::ones({2, 2}).requires_grad_(true);
  Optimizer optimizer(ruleOf("sgd"), params, {{"lr", 0.5}});
  for (size_t i = 0; i < params.size(); ++i)
    if (i % 3 != 0)
      params[i].mutable_grad() = i % 100 == 1 ? at::ones({1, 1}).expand({2, 2}) : at::ones({2, 2});
  optimizer.step();
  for (size_t i = 0; i < params.size(); ++i)
    ASSERT_TRUE(haveSameBits(params[i], at::full({2, 2}, i % 3 == 0 ? 1.0 : 0.5))) << i;
  params[700].set_data(at::full({2, 2}, 3.0));
  params[1400].mutable_grad() = at::ones({2});
  params[1499].mutable_grad() = at::ones({3});
  EXPECT_EQ(messageOf([&] { optimizer.step(); }),
            "the gradient of parameter 1400 has the shape [2]; the parameter has [2, 2]");
  params[1400].mutable_grad() = params[1499].mutable_grad() = at::ones({2, 2});
  optimizer.step();
  EXPECT_TRUE(haveSameBits(params[700], at::full({2, 2}, 2.5)));
  EXPECT_TRUE(haveSameBits(params[1499], at::zeros({2, 2})));
  at::set_num_threads(before);
}

TEST(StepTests, RefusedGradients) {
  const at::Tensor param = at::ones({3, 2}).requires_grad_(true);
  Optimizer optimizer(ruleOf("sgd"), Tensors{at::ones({1}).requires_grad_(true), param});
  const at::Tensor rows =
      at::sparse_coo_tensor(at::zeros({1, 1}, at::kLong), at::ones({1, 2}), {3, 2});
  param.mutable_grad() = rows;
  EXPECT_EQ(messageOf([&] { optimizer.step(); }),
            "the gradient of parameter 1 is sparse; the step takes dense gradients: use "
            "`to_dense()`, or an embedding without `sparse`");
  // Autograd would refuse these as well.
  param.mutable_grad() = at::ones({3});
  EXPECT_EQ(messageOf([&] { optimizer.step(); }),
            "the gradient of parameter 1 has the shape [3]; the parameter has [3, 2]");
  param.mutable_grad() = at::ones({3, 2}, at::kDouble);
  EXPECT_EQ(messageOf([&] { optimizer.step(); }),
            "the gradient of parameter 1 has the dtype Double; the rule is compiled for Float");
  EXPECT_TRUE(haveSameBits(param, at::ones({3, 2})));
}

TEST(StepTests, RefusedStepsKeepNoGradients) {
  at::Tensor grad;
  {
    // Its keys are not those of other tensors, so the step keeps a reference.
    const c10::InferenceMode inference;
    grad = at::ones({4});
  }
  const Tensors params = {at::ones({4}).requires_grad_(true), at::ones({4}).requires_grad_(true)};
  Optimizer optimizer(ruleOf("sgd"), params);
  params[0].mutable_grad() = grad;
  params[1].mutable_grad() = at::ones({3});
  EXPECT_NE(messageOf([&] { optimizer.step(); }), "");
  EXPECT_EQ(grad.storage().use_count(), 1);
}

TEST(StepTests, RefusedParameters) {
  auto make = [](const at::Tensor &param) {
    return messageOf([&] { Optimizer(ruleOf("sgd"), Tensors{param}); });
  };
  EXPECT_EQ(make(at::ones({3}, at::kInt)), "parameter 0 has the dtype Int; Float, Double, BFloat16 "
                                           "and Half are supported");
  EXPECT_EQ(make(at::ones({3}, at::kDouble)),
            "parameter `0` is f64, but the rule is compiled for f32 parameters; convert "
            "it, or compile the rule with this storage type");
  EXPECT_EQ(make(at::ones({3}).to_sparse()),
            "parameter 0 must be a dense tensor, not SparseCPUFloatType");
  EXPECT_EQ(make(at::imag(at::ones({3}, at::kComplexFloat).conj())),
            "parameter 0 is a negated view of another tensor; give a tensor of its own, such as "
            "`resolve_neg()` returns");
  EXPECT_EQ(make(at::ones({3}, at::kMeta)),
            "parameter 0 is on meta; only the CPU and CUDA devices are supported");
}

} // namespace
