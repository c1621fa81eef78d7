//===- GroupTests.cpp - Parameter groups, hyperparameters and schedulers
//-----------------------===//

#include "TrainedTensors.h"

#include <malloc.h>

using torch::optim::OptimizerParamGroup;
using updraft::torch::Optimizer;
using updraft::torch::Options;

namespace {

using Groups = std::vector<OptimizerParamGroup>;

OptimizerParamGroup groupOf(const at::Tensor &param, const Options &options) {
  return {{param}, std::make_unique<Options>(options)};
}

Options &optionsOf(Optimizer &optimizer, size_t group = 0) {
  return static_cast<Options &>(optimizer.param_groups()[group].options());
}

at::Tensor ones() { return at::ones({4}).requires_grad_(true); }

void step(Optimizer &optimizer, const Tensors &params) {
  for (const at::Tensor &param : params)
    param.mutable_grad() = at::ones({4});
  optimizer.step();
}

TEST(GroupTests, HyperparametersAreOfTheGroupThenTheDefaultsThenTheRule) {
  const at::Tensor first = ones(), second = ones();
  Optimizer optimizer(ruleOf("sgd"), Groups{groupOf(first, {{"lr", 0.25}}), Tensors{second}},
                      {{"lr", 0.5}});
  EXPECT_EQ(optionsOf(optimizer, 0).get_lr(), 0.25);
  EXPECT_EQ(optionsOf(optimizer, 1).get_lr(), 0.5);
  EXPECT_EQ(optionsOf(optimizer, 1).get("momentum"), 0.0);
  EXPECT_EQ(optimizer.defaults().get_lr(), 0.5);
  step(optimizer, {first, second});
  EXPECT_TRUE(haveSameBits(first, at::full({4}, 0.75)));
  EXPECT_TRUE(haveSameBits(second, at::full({4}, 0.5)));
}

TEST(GroupTests, ChangedHyperparametersTakeEffectInTheNextStep) {
  const at::Tensor param = ones();
  Optimizer optimizer(ruleOf("sgd"), Tensors{param}, {{"lr", 0.5}});
  step(optimizer, {param});
  optionsOf(optimizer).set_lr(0.125);
  step(optimizer, {param});
  EXPECT_TRUE(haveSameBits(param, at::full({4}, 0.375)));
  // Replaced options are completed.
  optimizer.param_groups()[0].set_options(std::make_unique<Options>(Options{{"lr", 0.25}}));
  step(optimizer, {param});
  EXPECT_TRUE(haveSameBits(param, at::full({4}, 0.125)));
  EXPECT_EQ(optionsOf(optimizer).get("momentum"), 0.0);
}

TEST(GroupTests, SchedulersOfLibTorch) {
  const at::Tensor param = ones(), reference = ones();
  Optimizer optimizer(ruleOf("sgd"), Tensors{param}, {{"lr", 0.5}});
  torch::optim::SGD theirs({reference}, 0.5);
  torch::optim::StepLR schedule(optimizer, 2, 0.5), theirSchedule(theirs, 2, 0.5);
  torch::optim::ReduceLROnPlateauScheduler plateau(optimizer), theirPlateau(theirs);
  for (int i = 0; i < 30; ++i) {
    step(optimizer, {param});
    reference.mutable_grad() = at::ones({4});
    theirs.step();
    if (i < 6)
      schedule.step(), theirSchedule.step();
    plateau.step(1.0f), theirPlateau.step(1.0f);
  }
  EXPECT_LT(optionsOf(optimizer).get_lr(), 0.01);
  EXPECT_EQ(optionsOf(optimizer).get_lr(), theirs.param_groups()[0].options().get_lr());
  EXPECT_TRUE(haveSameBits(param, reference));
}

TEST(GroupTests, AddedGroupsAndParametersKeepTheStates) {
  const Tensors params = {ones(), ones(), ones(), ones()}, alone = {ones()};
  Optimizer optimizer(ruleOf("adamw"), Tensors{params[0]});
  Optimizer reference(ruleOf("adamw"), alone);
  const auto both = [&](size_t count) {
    step(optimizer, {params.begin(), params.begin() + static_cast<ptrdiff_t>(count)});
    step(reference, alone);
    EXPECT_TRUE(haveSameBits(params[0], alone[0])) << count;
  };
  both(1);
  both(1);
  optimizer.add_param_group(groupOf(params[1], {{"lr", 0.5}}));
  both(2);
  // Through the base class.
  static_cast<torch::optim::Optimizer &>(optimizer).add_param_group(Tensors{params[2]});
  both(3);
  EXPECT_EQ(optionsOf(optimizer, 1).get_lr(), 0.5);
  EXPECT_EQ(optionsOf(optimizer, 2).get("beta1"), 0.9);
  optimizer.add_parameters({params[3]});
  both(4);
  EXPECT_EQ(optimizer.step_count(params[0]), 5);
  EXPECT_EQ(optimizer.step_count(params[1]), 3);
  EXPECT_EQ(optimizer.step_count(params[3]), 1);
}

TEST(GroupTests, GroupsWithoutParameters) {
  const at::Tensor param = ones();
  Optimizer optimizer(ruleOf("sgd"), Tensors{param}, {{"lr", 0.5}});
  optimizer.add_param_group(Tensors{});
  step(optimizer, {param});
  EXPECT_TRUE(haveSameBits(param, at::full({4}, 0.5)));
  optimizer.param_groups()[1].params().push_back(ones());
  optionsOf(optimizer, 1).set_lr(0.25);
  step(optimizer, optimizer.param_groups()[1].params());
  EXPECT_TRUE(haveSameBits(optimizer.param_groups()[1].params()[0], at::full({4}, 0.75)));
}

TEST(GroupTests, ParametersThatChangeTheirGroup) {
  const Tensors params = {ones(), ones()};
  Optimizer optimizer(ruleOf("sgd"),
                      Groups{{params, std::make_unique<Options>(Options{{"lr", 0.5}})},
                             {Tensors{}, std::make_unique<Options>(Options{{"lr", 0.25}})}});
  step(optimizer, params);
  EXPECT_TRUE(haveSameBits(params, Tensors{at::full({4}, 0.5), at::full({4}, 0.5)}));
  // The order of all parameters stays the same.
  optimizer.param_groups()[0].params().pop_back();
  optimizer.param_groups()[1].params().push_back(params[1]);
  step(optimizer, params);
  EXPECT_TRUE(haveSameBits(params, Tensors{at::zeros({4}), at::full({4}, 0.25)}));
  EXPECT_EQ(optimizer.step_count(params[1]), 2);
}

TEST(GroupTests, RemovedParametersAreForgotten) {
  const Tensors params = {ones(), ones()};
  Optimizer optimizer(ruleOf("adamw"), params);
  step(optimizer, params);
  Tensors &listed = optimizer.param_groups()[0].params();
  listed.erase(listed.begin());
  step(optimizer, params);
  EXPECT_EQ(optimizer.step_count(params[1]), 2);
  EXPECT_EQ(messageOf([&] { optimizer.step_count(params[0]); }),
            "the tensor is not a parameter of this optimizer");
}

TEST(GroupTests, ParametersThatMoveKeepTheStates) {
  const at::Tensor param = ones(), reference = ones();
  Optimizer optimizer(ruleOf("adamw"), Tensors{param}), other(ruleOf("adamw"), Tensors{reference});
  for (int i = 0; i < 4; ++i) {
    step(optimizer, {param});
    step(other, {reference});
    param.set_data(param.detach().clone());
    EXPECT_TRUE(haveSameBits(param, reference)) << i;
  }
  EXPECT_EQ(optimizer.step_count(param), 4);
}

TEST(GroupTests, MovesOfParametersNeedNoMemory) {
  const at::Tensor param = ones();
  Optimizer optimizer(ruleOf("adamw"), Tensors{param});
  const auto move = [&](int count) {
    for (int i = 0; i < count; ++i) {
      step(optimizer, {param});
      param.set_data(param.detach().clone());
    }
    return mallinfo2().uordblks;
  };
  const size_t before = move(10), after = move(2000);
  EXPECT_LT(after, before + 100'000);
}

TEST(GroupTests, StatesOfTheGroupStayInTheGroup) {
  const Tensors params = {ones(), ones(), ones()};
  Optimizer optimizer(ruleOf("prodigy"),
                      Groups{{{params[0], params[1]}, std::make_unique<Options>()},
                             {{params[2]}, std::make_unique<Options>(Options{{"d0", 0.5}})}});
  step(optimizer, params);
  const at::Tensor first = optimizer.state(params[0], "d").clone(),
                   second = optimizer.state(params[2], "d").clone();
  EXPECT_FALSE(haveSameBits(first, second));
  optimizer.param_groups()[0].params().pop_back();
  optimizer.param_groups()[1].params().push_back(params[1]);
  // A step that changes nothing but the groups.
  for (const at::Tensor &param : params)
    param.mutable_grad() = at::Tensor();
  optimizer.step();
  EXPECT_TRUE(haveSameBits(optimizer.state(params[0], "d"), first));
  EXPECT_TRUE(haveSameBits(optimizer.state(params[1], "d"), second));
  step(optimizer, params);
  EXPECT_EQ(optimizer.step_count(params[1]), 2);
}

TEST(GroupTests, StatesOfTheGroupFollowItsIndex) {
  const Tensors params = {ones(), ones(), ones()};
  Optimizer optimizer(ruleOf("prodigy"),
                      Groups{{{params[0]}, std::make_unique<Options>()},
                             {{params[1]}, std::make_unique<Options>(Options{{"d0", 0.5}})},
                             {{params[2]}, std::make_unique<Options>(Options{{"d0", 0.25}})}});
  step(optimizer, params);
  const at::Tensor second = optimizer.state(params[1], "d").clone(),
                   third = optimizer.state(params[2], "d").clone();
  for (const at::Tensor &param : params)
    param.mutable_grad() = at::Tensor();
  optimizer.param_groups().erase(optimizer.param_groups().begin());
  optimizer.step();
  EXPECT_TRUE(haveSameBits(optimizer.state(params[1], "d"), second));
  EXPECT_TRUE(haveSameBits(optimizer.state(params[2], "d"), third));
  std::swap(optimizer.param_groups()[0], optimizer.param_groups()[1]);
  optimizer.step();
  EXPECT_TRUE(haveSameBits(optimizer.state(params[1], "d"), second));
  EXPECT_TRUE(haveSameBits(optimizer.state(params[2], "d"), third));
}

TEST(GroupTests, StatesFollowALayout) {
  const at::Tensor param = at::randn({2, 3, 4, 5}).requires_grad_(true);
  const at::Tensor reference = asParameter(param);
  Optimizer optimizer(ruleOf("adamw"), Tensors{param}), other(ruleOf("adamw"), Tensors{reference});
  for (int i = 0; i < 3; ++i) {
    setGradients({param}, i);
    setGradients({reference}, i);
    optimizer.step();
    other.step();
    param.set_data(param.detach().contiguous(at::MemoryFormat::ChannelsLast));
  }
  EXPECT_TRUE(haveSameBits(param, reference));
  EXPECT_TRUE(haveSameBits(optimizer.state(param, "exp_avg"), other.state(reference, "exp_avg")));
}

TEST(GroupTests, StatesOfTheGroupAndInBlocksMove) {
  updraft::CompileOptions inBlocks;
  inBlocks.storage = {{"state", "q8_linear"}};
  for (const auto &rule : {ruleOf("prodigy"), ruleOf("adamw", inBlocks)}) {
    const Tensors params = parametersOf(at::kFloat), references = copiesOf(params);
    Optimizer optimizer(rule, params), other(rule, references);
    for (int i = 0; i < 4; ++i) {
      setGradients(params, i);
      setGradients(references, i);
      optimizer.step();
      other.step();
      params[0].set_data(params[0].detach().clone());
      EXPECT_TRUE(haveSameBits(params, references)) << rule->name() << i;
    }
  }
}

TEST(GroupTests, StatesOutliveTheOptimizer) {
  at::Tensor kept;
  const at::Tensor param = ones();
  {
    Optimizer optimizer(ruleOf("adamw"), Tensors{param});
    step(optimizer, {param});
    kept = optimizer.state(param, "exp_avg");
  }
  EXPECT_TRUE(at::allclose(kept, at::full({4}, 0.1)));
}

TEST(GroupTests, Errors) {
  const at::Tensor param = ones();
  auto make = [&](const Groups &groups, const Options &defaults) {
    return messageOf([&] { Optimizer(ruleOf("sgd"), groups, defaults); });
  };
  EXPECT_EQ(make({Tensors{param}}, {{"rate", 1.0}}),
            "rule `SGD` has no hyperparameter `rate`; there are `lr`, `momentum`, "
            "`dampening`, `weight_decay`");
  EXPECT_EQ(make({Tensors{param}}, {{"lr", -1.0}}), "Invalid learning rate: -1.0");
  EXPECT_EQ(make({{{param}, std::make_unique<torch::optim::SGDOptions>(0.1)}}, {}),
            "the options of a parameter group are updraft::torch::Options, not those of another "
            "optimizer");
  EXPECT_EQ(make({Tensors{param}, Tensors{param}}, {}),
            "parameters `0` and `1` overlap in memory; give each tensor once");
  EXPECT_EQ(messageOf([] { Options{{"beta1", 0.5}, {"eps", 1.0}}.get_lr(); }),
            "the options have no hyperparameter `lr`; they have: `beta1`, `eps`");

  Optimizer optimizer(ruleOf("sgd"), Tensors{param});
  EXPECT_EQ(messageOf([&] { optimizer.add_param_group(Tensors{at::ones({1}, at::kDouble)}); }),
            "parameter `1` is f64, but the rule is compiled for f32 parameters; convert "
            "it, or compile the rule with this storage type");
  EXPECT_EQ(optimizer.param_groups().size(), 1u);
  optionsOf(optimizer).set_lr(-1);
  param.mutable_grad() = at::ones({4});
  EXPECT_EQ(messageOf([&] { optimizer.step(); }), "Invalid learning rate: -1.0");
  EXPECT_TRUE(haveSameBits(param, at::ones({4})));
  optionsOf(optimizer).set_lr(0.5);
  optimizer.step();
  EXPECT_TRUE(haveSameBits(param, at::full({4}, 0.5)));
}

} // namespace
