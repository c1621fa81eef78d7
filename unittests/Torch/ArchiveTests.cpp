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

TEST(ArchiveTests, StepsDoNotChangeTheArchive) {
  const at::Tensor param = at::ones({2}).requires_grad_(true);
  Optimizer optimizer(ruleOf("adamw"), Tensors{param});
  steps(optimizer, 0, 2);
  const std::string before = saved(optimizer);
  std::istringstream stream(before);
  torch::serialize::InputArchive archive;
  archive.load_from(stream);
  for (int i = 0; i < 2; ++i) {
    optimizer.load(archive);
    EXPECT_TRUE(saved(optimizer) == before) << i;
    steps(optimizer, 2, 2);
  }
}

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

TEST(ArchiveTests, HyperparametersOfAFileCanBeSetBack) {
  const at::Tensor param = at::ones({2}).requires_grad_(true);
  const auto path = std::filesystem::path(testing::TempDir()) / "updraft-set-back.safetensors";
  Optimizer(ruleOf("sgd"), Tensors{asParameter(param)}, {{"lr", 0.25}}).save_file(path.string());
  Optimizer optimizer(ruleOf("sgd"), Tensors{param}, {{"lr", 0.5}});
  optimizer.load_file(path.string());
  std::filesystem::remove(path);
  EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 0.25);
  optimizer.param_groups()[0].options().set_lr(0.5);
  param.mutable_grad() = at::ones({2});
  optimizer.step();
  EXPECT_TRUE(haveSameBits(param, at::full({2}, 0.5)));
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

TEST(ArchiveTests, ArchivesThatLackAStateChangeNothing) {
  const Tensors params = parametersOf(at::kFloat);
  updraft::CompileOptions options;
  options.settings = {{"amsgrad", "true"}};
  Optimizer plain(ruleOf("adamw"), copiesOf(params)), amsgrad(ruleOf("adamw", options), params);
  steps(plain, 0, 2);
  steps(amsgrad, 0, 1);
  const std::string before = saved(amsgrad);
  EXPECT_EQ(messageOf([&] { load(amsgrad, saved(plain)); }),
            "parameter 0 of the archive lacks the state `max_exp_avg_sq`");
  EXPECT_EQ(saved(amsgrad), before);
  steps(amsgrad, 1, 1);
}

TEST(ArchiveTests, StatesOfTheGroupAreNoStatesOfAParameter) {
  const Tensors params = parametersOf(at::kFloat), resumed = copiesOf(params);
  Optimizer first(ruleOf("prodigy"), params), second(ruleOf("prodigy"), resumed);
  setGradients({params[0]}, 0);
  first.step();
  load(second, saved(first));
  EXPECT_EQ(saved(first), saved(second));
}

TEST(ArchiveTests, OptionsOfAnotherOptimizerAreRefusedBeforeAnyChange) {
  const Tensors params = parametersOf(at::kFloat);
  Optimizer first(ruleOf("adamw"), copiesOf(params)), second(ruleOf("adamw"), params);
  steps(first, 0, 2);
  second.param_groups()[0].set_options(std::make_unique<torch::optim::SGDOptions>(0.1));
  EXPECT_EQ(messageOf([&] { load(second, saved(first)); }),
            "the options of a parameter group are updraft::torch::Options, not those of another "
            "optimizer");
  EXPECT_EQ(second.step_count(params[0]), 0);
}

std::shared_ptr<const updraft::Rule> lionIn(const std::string &format) {
  updraft::CompileOptions options;
  options.storage = {{"state", format}};
  return ruleOf("lion", options);
}

TEST(ArchiveTests, BlocksOfAnotherFormatAreRefused) {
  const Tensors params = parametersOf(at::kFloat);
  Optimizer companded(lionIn("q8_companded"), params), linear(lionIn("q8_linear"), params),
      floats(ruleOf("lion"), params);
  steps(companded, 0, 2);
  steps(floats, 0, 2);
  const std::string before = saved(linear);
  EXPECT_EQ(messageOf([&] { load(linear, saved(companded)); }),
            "state `exp_avg` of parameter 0 was saved as q8_companded, but the rule stores it as "
            "q8_linear; compile the rule with the storage type that it was saved with");
  EXPECT_EQ(saved(linear), before);
  EXPECT_EQ(messageOf([&] { load(floats, saved(companded)); }),
            "state `exp_avg` of parameter 0 was saved as q8_companded, but the rule stores it as "
            "f32; compile the rule with the storage type that it was saved with");
  EXPECT_THAT(messageOf([&] { load(linear, saved(floats)); }),
              testing::StartsWith("state `exp_avg` of parameter `0` is f32, but"));
}

/// An archive of Lion after a step of 300 elements, in blocks with these scales.
std::string archiveWith(const at::Tensor &scales) {
  using torch::serialize::OutputArchive;
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  OutputArchive archive(unit), groups(unit), group(unit), hypers(unit), states(unit), state(unit);
  group.write("params", c10::IValue(int64_t(1)));
  group.write("hypers", hypers);
  groups.write("size", c10::IValue(int64_t(1)));
  groups.write("0", group);
  state.write("step", c10::IValue(int64_t(1)));
  state.write("exp_avg", at::zeros({300}, at::kByte), /*is_buffer=*/true);
  state.write("exp_avg/type", c10::IValue("q8_linear"));
  if (scales.defined())
    state.write("exp_avg/scale", scales, /*is_buffer=*/true);
  states.write("0", state);
  archive.write("format", c10::IValue("updraft 1"));
  archive.write("rule", c10::IValue("Lion"));
  archive.write("seed", c10::IValue(int64_t(0)));
  archive.write("param_groups", groups);
  archive.write("state", states);
  std::ostringstream stream;
  archive.save_to(stream);
  return stream.str();
}

TEST(ArchiveTests, BlocksWithoutTheirScalesAreRefused) {
  const at::Tensor param = at::ones({300}).requires_grad_(true);
  Optimizer optimizer(lionIn("q8_linear"), Tensors{param});
  const std::string before = saved(optimizer);
  for (const at::Tensor &scales : {at::Tensor(), at::ones({1}), at::ones({2, 1})})
    EXPECT_EQ(messageOf([&] { load(optimizer, archiveWith(scales)); }),
              "the scales of state `exp_avg` of parameter 0 are missing or have another shape");
  EXPECT_EQ(saved(optimizer), before);
  load(optimizer, archiveWith(at::ones({2})));
  EXPECT_EQ(optimizer.step_count(param), 1);
  steps(optimizer, 1, 1);
}

TEST(ArchiveTests, AdjacentTensorsAreNotTakenForOneMemory) {
  using namespace updraft::torch::detail;
  const std::vector<torch::optim::OptimizerParamGroup> groups = {
      Tensors{at::ones({300}).requires_grad_(true)}};
  const at::Tensor memory = at::zeros({308}, at::kByte);
  State state;
  state.name = "exp_avg";
  state.values = memory.slice(0, 0, 300);
  state.scales = memory.slice(0, 300).view(at::kFloat);
  state.format = "q8_linear";
  Stepper stepper(lionIn("q8_linear"), groups, {{}});
  stepper.bind(groups, {{1, {state}}}, {{}}, 0);
  EXPECT_NE(stepper.state(0, "exp_avg").const_data_ptr(), memory.const_data_ptr());
}

} // namespace
