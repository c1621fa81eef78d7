//===- PackedRulesTest.cpp - Every shipped rule in a package ----------------------------------===//

#include "runtime/base/MatrixLayout.h"
#include "runtime/package/Machine.h"
#include "runtime/package/PackagedRule.h"
#include "runtime/package/SampleCheck.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Packager/Packager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

using namespace updraft;
using testing::HasSubstr;

namespace {

const std::vector<std::string> cpuTargets = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};

std::vector<std::string> ruleFiles() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(UPDRAFT_RULES_DIR))
    if (entry.path().extension() == ".upd")
      names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

PackRequest requestFor(const std::string &name) {
  PackRequest request;
  request.rule.filename = std::string(UPDRAFT_RULES_DIR) + "/" + name + ".upd";
  auto source = readRuleFile(request.rule.filename);
  EXPECT_TRUE(bool(source));
  request.rule.source = std::move(*source);
  request.targets = cpuTargets;
  return request;
}

std::shared_ptr<const package::Package> open(const std::string &bytes) {
  std::shared_ptr<const package::Package> opened;
  const runtime::Status status = package::Package::open(bytes, "test.updraft", opened);
  EXPECT_EQ(status.message(), "");
  return opened;
}

std::string errorOf(const PackRequest &request) {
  auto bytes = packRule(request);
  return bytes ? "" : takeStatus(bytes.takeError()).second;
}

class PackedRules : public testing::TestWithParam<std::string> {};

// The results are those of the reference interpreter, for every target that this CPU runs.
TEST_P(PackedRules, ComputeTheBitsOfTheirSamples) {
  PackRequest request = requestFor(GetParam());
  request.variants = {
      {},
      {{"param", StorageType::BF16}, {"grad", StorageType::BF16}, {"state", StorageType::F32}},
      {{"param", StorageType::F16}, {"state", StorageType::Q8Linear}},
      {{"param", StorageType::F64}, {"grad", StorageType::F64}}};
  auto bytes = packRule(request);
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  const auto package = open(*bytes);
  ASSERT_TRUE(package);
  ASSERT_EQ(package->images().size(), 4 * cpuTargets.size());
  size_t ran = 0;
  for (const package::Image &image : package->images()) {
    if (!package::Machine::host().runs(image.architecture, image.level))
      continue;
    package::SampleSize compared;
    const runtime::Status status = package::checkSample(*package, image, compared);
    EXPECT_EQ(status.message(), "");
    EXPECT_GT(compared.bytes, 0u);
    ++ran;
  }
  EXPECT_GE(ran, 4u);
}

/// The memory for the matrices of a rule with states for both sides of a parameter, divided by the
/// size of the parameter. For a square one, it is the number of matrices at a time.
const std::map<std::string, std::array<double, 3>> ofBothSides = {
    {"kl_shampoo", {2, 8, 8}},
    {"psgd_pro", {5, 16.25, 16.25}}, // one number scales both sides
    {"shampoo", {3, 12, 12}},
    {"soap", {3, 9, 8}}};

TEST_P(PackedRules, NeedMemoryForFewMatrices) {
  PackRequest request = requestFor(GetParam());
  request.targets = {"x86-64-v3"};
  auto bytes = packRule(request);
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  const auto package = open(*bytes);
  std::shared_ptr<const runtime::Kernels> kernels;
  ASSERT_EQ(package::loadKernels(*package, package->images()[0], kernels).message(), "");
  constexpr std::array<std::pair<int64_t, int64_t>, 3> sizes{
      {{768, 768}, {768, 3072}, {3072, 768}}};
  const auto known = ofBothSides.find(GetParam());
  for (const runtime::PlanInterface &plan : kernels->interface.plans)
    for (size_t size = 0; size < sizes.size(); ++size) {
      const auto &[rows, columns] = sizes[size];
      if (!plan.isFor(runtime::TensorClass::Matrix, rows, columns))
        continue;
      runtime::TensorShape shape{1, rows, columns};
      shape.chosen = plan.chosenOf(rows, columns);
      const double needed = static_cast<double>(runtime::MatrixLayout(plan).place(shape).bytes) /
                            static_cast<double>(shape.elements() * int64_t(sizeof(float)));
      if (known == ofBothSides.end())
        EXPECT_LE(needed, 3);
      else
        EXPECT_EQ(needed, known->second[size]);
    }
}

/// A rule without conditions that exclude each other: a product for `starts || refreshes`, and one
/// for `!starts`.
TEST(Packager, ListsConditionsThatExcludeEachOther) {
  auto exclusionsOf = [](const std::string &cases) {
    PackRequest request;
    request.rule.filename = "cases.upd";
    request.rule.source = "rule Cases(lr = 1) {\n  update(param, grad, step) {\n"
                          "    let starts = step == 1\n"
                          "    let even = step == 2 * floor(step / 2)\n" +
                          cases + "  }\n}\n";
    request.targets = {"x86-64-v3"};
    auto bytes = packRule(request);
    EXPECT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
    std::shared_ptr<const runtime::Kernels> kernels;
    const auto package = open(*bytes);
    EXPECT_EQ(package::loadKernels(*package, package->images()[0], kernels).message(), "");
    return kernels->interface.plans.back().exclusiveConditions;
  };
  const std::string gram = "gram(grad) @ grad", cogram = "grad @ gram(transpose(grad))";
  auto choice = [&](const std::string &first, const std::string &second) {
    return "    let a = if matrix && (" + first + ") then " + gram + " else grad\n" +
           "    let b = if matrix && (" + second + ") then " + cogram + " else grad\n" +
           "    next param = param - lr * (a + b)\n";
  };
  EXPECT_THAT(exclusionsOf(choice("starts", "!starts")), testing::SizeIs(1));
  EXPECT_THAT(exclusionsOf(choice("starts && even", "even && !starts")), testing::SizeIs(1));
  EXPECT_THAT(exclusionsOf(choice("starts || even", "!starts")), testing::IsEmpty());
  EXPECT_THAT(exclusionsOf(choice("starts", "even")), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, PackedRules, testing::ValuesIn(ruleFiles()),
                         [](const auto &info) { return info.param; });

TEST(Packager, WritesTheSameBytesForTheSameRequest) {
  PackRequest request = requestFor("adafactor");
  request.targets.push_back("nvptx:sm_90");
  auto first = packRule(request), second = packRule(request);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

// A package must not contain where its rule was.
TEST(Packager, WritesTheSameBytesForAnotherFolder) {
  PackRequest request = requestFor("adamw");
  auto first = packRule(request);
  const auto folder = std::filesystem::path(testing::TempDir()) / "updraft-packager";
  std::filesystem::create_directories(folder);
  std::filesystem::copy(UPDRAFT_RULES_DIR, folder,
                        std::filesystem::copy_options::recursive |
                            std::filesystem::copy_options::overwrite_existing);
  request.rule.filename = folder / "adamw.upd";
  auto second = packRule(request);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

TEST(Packager, PacksAdamWForSevenTargetsInAHundredKilobytes) {
  PackRequest request = requestFor("adamw");
  for (const char *gpu : {"nvptx:sm_80", "nvptx:sm_90", "nvptx:sm_100"})
    request.targets.push_back(gpu);
  auto bytes = packRule(request);
  ASSERT_TRUE(bool(bytes));
  EXPECT_LE(bytes->size(), 100'000u);
  const auto package = open(*bytes);
  const package::Image *image = nullptr;
  ASSERT_TRUE(package::findForGPU(*package, 0, 90, image).ok());
  std::shared_ptr<const runtime::Kernels> kernels;
  ASSERT_EQ(package::loadKernels(*package, *image, kernels).message(), "");
  EXPECT_THAT(kernels->gpu.ptx, HasSubstr(".target sm_90"));
  EXPECT_TRUE(kernels->plans.empty());
  EXPECT_EQ(kernels->interface.gpu, "nvptx:sm_90");
}

// The code of the CPU has it.
TEST(Packager, HasThePrologueThatTheHostNeedsForAGPU) {
  PackRequest request = requestFor("soap");
  request.targets.push_back("nvptx:sm_90");
  auto bytes = packRule(request);
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  const auto package = open(*bytes);
  const package::Image *image = nullptr;
  std::shared_ptr<const runtime::Kernels> ofGPU, ofCpu;
  ASSERT_TRUE(package::findForGPU(*package, 0, 90, image).ok());
  ASSERT_EQ(package::loadKernels(*package, *image, ofGPU).message(), "");
  ASSERT_TRUE(package::findForHost(*package, 0, image).ok());
  ASSERT_EQ(package::loadKernels(*package, *image, ofCpu).message(), "");
  ASSERT_EQ(ofGPU->hostPrologues.size(), 2u);
  EXPECT_TRUE(ofGPU->plans.empty());
  EXPECT_EQ(ofGPU->hostPrologues[0], nullptr);
  std::vector<double> hypers;
  for (const runtime::HyperInterface &hyper : ofGPU->interface.hypers)
    hypers.push_back(hyper.defaultValue);
  const double facts[UPD_TENSOR_FACTS] = {11, 0, 20, 4, 5, 20};
  std::vector<float> row(ofGPU->interface.plans[1].rowScalars, -1), expected(row);
  ofGPU->hostPrologues[1](hypers.data(), facts, nullptr, nullptr, row.data(), nullptr);
  ofCpu->plans[1].prologues[0](hypers.data(), facts, nullptr, nullptr, expected.data(), nullptr);
  EXPECT_EQ(row, expected);
  EXPECT_NE(row[1], -1);
}

// The loader takes an image by this length, and by the bit for BF16.
TEST(Packager, RecordsTheLengthOfSVEVectorsAndBF16) {
  PackRequest request = requestFor("adamw");
  request.targets = {"aarch64", "aarch64+sve128", "aarch64+sve256", "aarch64+sve512",
                     "aarch64+bf16"};
  auto bytes = packRule(request);
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  const auto package = open(*bytes);
  std::vector<uint32_t> lengths;
  for (const package::Image &image : package->images()) {
    EXPECT_EQ(image.architecture, UPD_AARCH64);
    EXPECT_EQ((package::Machine{image.architecture, image.level}.name()), image.target);
    lengths.push_back(image.level);
  }
  EXPECT_EQ(lengths, (std::vector<uint32_t>{0, 128, 256, 512, 65536}));
}

TEST(Packager, RefusesTargetsThatItCannotPack) {
  PackRequest request = requestFor("sgd");
  request.targets = {};
  EXPECT_EQ(errorOf(request), "no targets; name one, such as `x86-64-v3`");
  request.targets = {"x86-64-v3", "host"};
  EXPECT_EQ(errorOf(request),
            "a package can't have code for `host`, which isn't the same on every machine; name a "
            "CPU, such as `x86-64-v3`, or a GPU, such as `nvptx:sm_90`");
  request.targets = {"x86-64-v3", "emulator"};
  EXPECT_THAT(errorOf(request), HasSubstr("can't have code for `emulator`"));
  request.targets = {"x86-64-v3", "x86-64-v3"};
  EXPECT_EQ(errorOf(request), "the target `x86-64-v3` is given twice");
  request.targets = {"nvptx:sm_90"};
  EXPECT_EQ(errorOf(request), "a package for GPUs also needs a CPU, which computes initial states; "
                              "add one, such as `x86-64-v3`");
  request.targets = {"x86-64-v3"};
  request.variants = {{{"param", StorageType::BF16}}, {{"param", StorageType::BF16}}};
  EXPECT_EQ(errorOf(request), "the variant `param=bf16` is given twice; a package has one of each");
}

TEST(Packager, ReportsErrorsOfTheRule) {
  PackRequest request = requestFor("sgd");
  request.rule.source = "rule R(lr = 0.1) { update(param, grad) { next param = oops } }";
  EXPECT_THAT(errorOf(request), HasSubstr("error: unknown name `oops`"));
}

} // namespace
