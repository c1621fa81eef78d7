//===- ArchiveTests.cpp - torch::save and torch::load, and safetensors
//-------------------------===//

#include "TrainedTensors.h"

#include <sstream>

using updraft::torch::Optimizer;
using updraft::torch::Options;

namespace {

std::string saved(const Optimizer &optimizer) {
  std::ostringstream stream;
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  archive.save_to(stream);
  return stream.str();
}

void load(Optimizer &optimizer, const std::string &bytes) {
  std::istringstream stream(bytes);
  torch::load(optimizer, stream);
}

void steps(Optimizer &optimizer, int first, int count) {
  for (int step = first; step < first + count; ++step) {
    setGradients(optimizer.param_groups()[0].params(), step);
    optimizer.step();
  }
}

struct Case {
  const char *rule;
  std::vector<updraft::CompileOptions::Storage> storage;
  at::ScalarType type = at::kFloat;
};

class Resumed : public testing::TestWithParam<Case> {
protected:
  std::shared_ptr<const updraft::Rule> rule() const {
    updraft::CompileOptions options;
    options.storage = GetParam().storage;
    return ruleOf(GetParam().rule, options);
  }
};

TEST_P(Resumed, FromAnArchiveHasTheSameBits) {
  const auto rule = this->rule();
  const Tensors params = parametersOf(GetParam().type);
  Optimizer first(rule, params);
  first.set_seed(7);
  steps(first, 0, 3);
  const Tensors resumed = copiesOf(params);
  Optimizer second(rule, resumed);
  load(second, saved(first));
  EXPECT_EQ(second.seed(), 7u);
  EXPECT_EQ(second.step_count(resumed[0]), 3);
  steps(first, 3, 3);
  steps(second, 3, 3);
  EXPECT_TRUE(haveSameBits(params, resumed));
  EXPECT_EQ(saved(first), saved(second));
}

TEST_P(Resumed, FromAFileHasTheSameBits) {
  const auto rule = this->rule();
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("updraft-" + std::string(GetParam().rule) + ".safetensors");
  const Tensors params = parametersOf(GetParam().type);
  Optimizer first(rule, params);
  first.set_seed(7);
  steps(first, 0, 3);
  first.save_file(path.string());
  const Tensors resumed = copiesOf(params);
  Optimizer second(rule, resumed);
  second.load_file(path.string());
  std::filesystem::remove(path);
  steps(first, 3, 3);
  second.set_seed(7);
  steps(second, 3, 3);
  EXPECT_TRUE(haveSameBits(params, resumed));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Resumed,
    testing::Values(Case{"sgd", {}}, Case{"adamw", {}}, Case{"prodigy", {}}, Case{"adafactor", {}},
                    Case{"adamw",
                         {{"param", "bf16_stochastic"}, {"grad", "bf16"}, {"state", "f32"}},
                         at::kBFloat16},
                    Case{"adamw", {{"param", "bf16_corrected"}, {"grad", "bf16"}}, at::kBFloat16},
                    Case{"lion", {{"state", "q8_companded"}}}),
    [](const auto &info) {
      const Case &each = info.param;
      return std::string(each.rule) + (each.storage.empty() ? "" : "_" + each.storage[0].type);
    });

TEST(ArchiveTests, HyperparametersAreRestored) {
  const at::Tensor param = at::ones({2}).requires_grad_(true), other = asParameter(param);
  Optimizer first(ruleOf("sgd"), Tensors{param}, {{"lr", 0.5}});
  first.param_groups()[0].options().set_lr(0.25);
  Optimizer second(ruleOf("sgd"), Tensors{other}), third(ruleOf("sgd"), Tensors{other});
  load(second, saved(first));
  EXPECT_EQ(second.param_groups()[0].options().get_lr(), 0.25);
  const auto path = std::filesystem::path(testing::TempDir()) / "updraft-hypers.safetensors";
  first.save_file(path.string());
  third.load_file(path.string());
  std::filesystem::remove(path);
  EXPECT_EQ(third.param_groups()[0].options().get_lr(), 0.25);
  other.mutable_grad() = at::ones({2});
  third.step();
  EXPECT_TRUE(haveSameBits(other, at::full({2}, 0.75)));
}

TEST(ArchiveTests, LoadsIntoAnotherLayout) {
  const at::Tensor param = at::randn({2, 3, 4, 5}).requires_grad_(true);
  Optimizer first(ruleOf("adamw"), Tensors{param});
  steps(first, 0, 2);
  const at::Tensor other = param.detach().contiguous(at::MemoryFormat::ChannelsLast);
  other.requires_grad_(true);
  Optimizer second(ruleOf("adamw"), Tensors{other});
  load(second, saved(first));
  steps(first, 2, 2);
  steps(second, 2, 2);
  EXPECT_TRUE(haveSameBits(param, other));
}

TEST(ArchiveTests, RefusedArchivesChangeNothing) {
  const Tensors params = parametersOf(at::kFloat);
  Optimizer adamw(ruleOf("adamw"), params), sgd(ruleOf("sgd"), copiesOf(params));
  steps(adamw, 0, 2);
  steps(sgd, 0, 2);
  const std::string before = saved(adamw);
  auto refused = [&](const Optimizer &from) {
    return messageOf([&] { load(adamw, saved(from)); });
  };
  EXPECT_EQ(refused(sgd), "the archive is of the rule `SGD`; the optimizer has the rule `AdamW`");
  EXPECT_EQ(refused(Optimizer(ruleOf("adamw"),
                              std::vector<torch::optim::OptimizerParamGroup>{
                                  Tensors{at::ones({1})}, Tensors{at::ones({1})}})),
            "the archive has 2 parameter groups; the optimizer has 1");
  EXPECT_EQ(refused(Optimizer(ruleOf("adamw"), Tensors{at::ones({1})})),
            "parameter group 0 of the archive has 1 parameters; that of the optimizer has 5");
  Tensors others = copiesOf(params);
  others[2] = at::ones({18}).requires_grad_(true);
  Optimizer other(ruleOf("adamw"), others);
  steps(other, 0, 1);
  EXPECT_THAT(refused(other), testing::StartsWith("state `exp_avg` of parameter `2` is [18], but "
                                                  "the parameter is [17]"));

  torch::optim::AdamW torchs(copiesOf(params));
  std::stringstream stream;
  torch::save(torchs, stream);
  EXPECT_EQ(messageOf([&] { load(adamw, stream.str()); }),
            "the archive was not written by updraft::torch::Optimizer");
  EXPECT_EQ(saved(adamw), before);
}

} // namespace
