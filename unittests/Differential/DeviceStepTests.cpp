//===- DeviceStepTests.cpp - Steps on a device and on the CPU ---------------------------------===//
// The same rule, compiled for the CPU and for a device, steps the same tensors through the C API.
// Parameters and states must be bitwise equal after every step. The devices are the emulator and,
// if there is one, a GPU.

#include "RuleTable.h"
#include "SteppedSides.h"
#include "runtime/base/PoolParts.h"
#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/gpu/DeviceStep.h"

#include "updraft/Driver/CacheKey.h"
#include "updraft/Driver/Compiler.h"
#include "updraft/Engine/ObjectLoader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace updraft;
using namespace updraft::differential;

namespace {

/// A vector of more than a chunk, small ones, matrices of several blocks of rows, batches, and an
/// empty tensor.
std::vector<GroupTensor> tensorsOfTwoGroups() {
  return {{{5}, 0},        {{2 * 8192 + 130}, 0}, {{130, 5}, 0, 3},  {{0}, 0},
          {{2, 70, 3}, 1}, {{33}, 1, 1},          {{2, 70, 300}, 1}, {{}, 1}};
}

TEST(Devices, HaveAGPUAmongThem) {
  const SteppedOn gpu = SteppedOn::open("cuda");
  if (!gpu.device)
    GTEST_SKIP() << gpu.whyNot;
}

class DeviceSteps : public OnDevice<std::string> {};

TEST_P(DeviceSteps, HaveTheBitsOfTheCPU) {
  const RuleVariant variant = variantsOf(std::get<1>(GetParam())).back();
  const std::vector<StorageChoice> choices = storageChoices(variant);
  for (size_t number = 0; number < 3; ++number) {
    const RuleCase ruleCase = variant.instantiate(choices[number * choices.size() / 3]);
    std::vector<GroupTensor> tensors = tensorsOfTwoGroups();
    if (hasSquareStates(*llvm::cantFail(compile(ruleCase))))
      tensors[6].dimensions.back() = 130;
    SteppedSides sides(ruleCase, on, tensors);
    ASSERT_TRUE(sides.make());
    for (int step = 1; step <= 3; ++step) {
      for (const HyperChange &change : ruleCase.changes)
        if (change.step == step)
          ASSERT_TRUE(sides.setHyper(change.name, change.value));
      ASSERT_TRUE(sides.step());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceSteps,
                         testing::Combine(testing::ValuesIn(SteppedOn::names()),
                                          testing::ValuesIn(ruleFiles())),
                         [](const auto &info) {
                           return std::get<0>(info.param) + ("_" + std::get<1>(info.param));
                         });

class DeviceStep : public OnDevice<> {};

INSTANTIATE_TEST_SUITE_P(All, DeviceStep, testing::Combine(testing::ValuesIn(SteppedOn::names())),
                         [](const auto &info) { return std::get<0>(info.param); });

RuleCase caseOf(const std::string &file) { return variantsOf(file).front().instantiate({}); }

TEST_P(DeviceStep, IsSkippedWhereTheDeviceHasFoundInfinities) {
  for (const char *file : {"adamw", "adafactor", "prodigy"}) {
    const RuleCase ruleCase = caseOf(file);
    SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    for (const float found : {1, 0, 1, 0})
      ASSERT_TRUE(sides.step(found));
  }
}

TEST_P(DeviceStep, ReadsHyperparametersFromMemory) {
  const RuleCase ruleCase = caseOf("adamw");
  SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.setHyperInMemory("lr", 0.25f));
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.setHyperInMemory("lr", 0.0625f));
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.setHyper("lr", 0.5)); // the binding is removed
  ASSERT_TRUE(sides.step());
}

TEST_P(DeviceStep, HasTheBitsOfTheCPUInTheOtherModes) {
  for (const char *numerics : {"torch", "fast"}) {
    if (on.kind == UPD_CUDA && numerics == std::string_view("fast"))
      continue; // approximates; the GPU suite checks the bounds
    for (const char *file : {"adamw", "adafactor", "lamb", "sgd"}) {
      RuleCase ruleCase = caseOf(file);
      ruleCase.numerics = numerics;
      SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
      ASSERT_TRUE(sides.make());
      for (int step = 0; step < 3; ++step)
        ASSERT_TRUE(sides.step());
    }
  }
}

TEST_P(DeviceStep, HasTheBitsOfTheCPUInBlocks) {
  for (const StorageType state : {StorageType::Q8Linear, StorageType::Q8Companded})
    for (const char *file : {"adamw", "adafactor", "lamb", "prodigy"}) {
      RuleCase ruleCase = variantsOf(file).front().instantiate(
          {{"param", StorageType::BF16Stochastic}, {"grad", StorageType::BF16}, {"state", state}});
      SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
      ASSERT_TRUE(sides.make());
      ASSERT_TRUE(sides.step(1));
      for (const size_t offset : {0, 1, 0}) {
        sides.moveGradients(offset);
        ASSERT_TRUE(sides.step());
      }
      ASSERT_TRUE(sides.bindStates());
      ASSERT_TRUE(sides.exchangeFiles());
      ASSERT_TRUE(sides.step());
    }
}

TEST_P(DeviceStep, FillsBlocksWithInitialValues) {
  for (const StorageType state : {StorageType::Q8Linear, StorageType::Q8Companded}) {
    RuleCase ruleCase;
    ruleCase.filename = "started.upd";
    ruleCase.source = "rule Started(lr = 0.1, start = -0.3) {\n"
                      "  state mean = start\n"
                      "  update(param, grad) {\n"
                      "    next mean = if grad > 9 then grad else mean\n"
                      "    next param = param - lr * mean\n"
                      "  }\n}\n";
    ruleCase.storage = {{"state", state}};
    SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    ASSERT_TRUE(sides.step(1));
    ASSERT_TRUE(sides.setHyper("start", 0.7)); // no states exist yet
    for (int step = 0; step < 2; ++step)
      ASSERT_TRUE(sides.step());
  }
}

TEST_P(DeviceStep, FollowsGradientsThatMove) {
  for (const char *file : {"adamw", "adafactor"}) {
    const RuleCase ruleCase = caseOf(file);
    SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    for (const size_t offset : {0, 1, 0, 3}) {
      sides.moveGradients(offset);
      ASSERT_TRUE(sides.step());
    }
  }
}

TEST_P(DeviceStep, FollowsGradientsThatComeAndGo) {
  for (const char *file : {"adafactor", "prodigy", "adamw"}) {
    const RuleCase ruleCase = caseOf(file);
    SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    sides.setPresent(2, false);
    ASSERT_TRUE(sides.step());
    sides.setPresent(2, true);
    sides.setPresent(0, false);
    ASSERT_TRUE(sides.step());
    sides.moveGradients(1);
    sides.setPresent(0, true);
    ASSERT_TRUE(sides.stepBoth()); // no reads between these steps
    for (size_t i = 0; i < 8; ++i)
      sides.setPresent(i, false);
    ASSERT_TRUE(sides.stepBoth());
    sides.setPresent(6, true);
    ASSERT_TRUE(sides.step());
  }
}

TEST_P(DeviceStep, TakesStatesOfTheCaller) {
  for (const char *file : {"adamw", "adafactor", "prodigy"}) {
    const RuleCase ruleCase = caseOf(file);
    SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    ASSERT_TRUE(sides.stepBoth());
    ASSERT_TRUE(sides.bindStates());
    ASSERT_TRUE(sides.step());
  }
}

TEST_P(DeviceStep, CountsWhereTheCallerHasTheCount) {
  const RuleCase ruleCase = caseOf("adamw");
  SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.bindSteps());
  ASSERT_TRUE(sides.step());
  ASSERT_TRUE(sides.exchangeFiles());
  ASSERT_TRUE(sides.step(1));
  ASSERT_TRUE(sides.step());
}

TEST_P(DeviceStep, SavesAndLoadsTheSameFilesAsTheCPU) {
  for (const char *file : {"adamw", "adafactor", "prodigy", "sgd"}) {
    const RuleCase ruleCase = caseOf(file);
    SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    ASSERT_TRUE(sides.exchangeFiles()); // before any state exists
    sides.setPresent(4, false);
    ASSERT_TRUE(sides.step());
    ASSERT_TRUE(sides.exchangeFiles());
    sides.setPresent(4, true);
    ASSERT_TRUE(sides.step());
  }
}

TEST_P(DeviceStep, HasGroupsWithoutTensors) {
  for (const char *file : {"adafactor", "prodigy"}) {
    const RuleCase ruleCase = caseOf(file);
    for (const std::vector<GroupTensor> &tensors :
         {std::vector<GroupTensor>{{{5}, 1}}, std::vector<GroupTensor>{{{4, 3}, 0}, {{0, 3}, 0}}}) {
      SteppedSides sides(ruleCase, on, tensors);
      ASSERT_TRUE(sides.make());
      for (int step = 0; step < 2; ++step)
        ASSERT_TRUE(sides.step());
    }
  }
}

TEST_P(DeviceStep, CombinesLargeTensorsInParts) {
  const RuleCase ruleCase = caseOf("lamb");
  SteppedSides sides(ruleCase, on, {{{513 * 8192 + 5}, 0}, {{17}, 1}});
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.step());
}

// From the compiler, then from a cache on disk.
TEST(DeviceStepRule, ForAGPUHasItsKernelsAsText) {
  llvm::SmallString<64> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("updraft-kernels", folder));
  CompileRequest request;
  request.filename = UPDRAFT_RULES_DIR "/adamw.upd";
  request.source = llvm::cantFail(readRuleFile(request.filename));
  ASSERT_FALSE(request.setTarget("nvptx:sm_90"));
  const DiskCache cache(folder.str().str(), 1 << 20);
  Compiler compiler;
  auto program = llvm::cantFail(compiler.parse(request));
  cache.store(cacheKey(*program, request), llvm::cantFail(compiler.compile(*program, request)));
  for (const DiskCache &from : {DiskCache(), cache}) {
    std::unique_ptr<ObjectLoader> loader = llvm::cantFail(ObjectLoader::create());
    const std::optional<CompiledRule> stored = from.lookup(cacheKey(*program, request));
    auto kernels = llvm::cantFail(
        loader->load(stored ? *stored : llvm::cantFail(compiler.compile(*program, request))));
    EXPECT_EQ(kernels->interface.gpu, "nvptx:sm_90");
    for (const char *part : {".target sm_90", ".entry AdamW_prologue0(", ".entry AdamW_sweep0("})
      EXPECT_TRUE(llvm::StringRef(kernels->gpu.ptx).contains(part)) << part;
    double initial[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    std::vector<double> hypers;
    for (const runtime::HyperInterface &hyper : kernels->interface.hypers)
      hypers.push_back(hyper.defaultValue);
    EXPECT_EQ(kernels->validate(hypers.data()), -1);
    kernels->initial(hypers.data(), initial);
    EXPECT_EQ(initial[0], 0);

    upd_rule rule{kernels, UPD_COMPILED};
    upd_optimizer *optimizer = nullptr;
    float element = 1;
    upd_tensor param{};
    param.data = &element;
    param.device = UPD_CPU;
    upd_group group{};
    group.params = &param;
    group.param_count = 1;
    EXPECT_EQ(upd_optimizer_create(&rule, &group, 1, nullptr, &optimizer), UPD_UNSUPPORTED);
    EXPECT_STREQ(upd_last_error(), "rule `AdamW` was compiled for `nvptx:sm_90`, and has no code "
                                   "for this CPU; compile it again, for the CPU");
  }
  llvm::sys::fs::remove_directories(folder);
}

TEST(DeviceStepRule, ForCPUsIsRefused) {
  const RuleCase ruleCase = caseOf("adamw");
  auto rule = compile(ruleCase);
  ASSERT_TRUE(static_cast<bool>(rule));
  std::unique_ptr<gpu::DeviceStep> step;
  const runtime::Status status =
      gpu::DeviceStep::create(std::make_shared<emulator::EmulatedDevice>(), (*rule)->kernels,
                              runtime::callingThread(), step);
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(), "the rule was not compiled for the emulator");
}

} // namespace
