//===- BlockStateTests.cpp - States in blocks, through the C API ------------------------------===//
// Views of codes and scales, files, memory of the caller, and errors.

#include "Sides.h"
#include "updraft/Reference/BlockedFormat.h"

#include <cmath>
#include <cstring>
#include <filesystem>

using namespace updraft;
using namespace updraft::differential;

namespace {

constexpr const char *source = "rule Kept(start = 0.25) {\n"
                               "  state kept = start\n"
                               "  update(param, grad) {\n"
                               "    next kept = grad\n"
                               "    next param = param - kept\n"
                               "  }\n}\n";

class BlockStates : public testing::Test {
protected:
  void SetUp() override { create({300}); }

  void create(std::vector<int64_t> dimensions, StorageType storage = StorageType::Q8Linear,
              std::vector<int64_t> strides = {}, const char *text = source) {
    RuleCase ruleCase;
    ruleCase.source = text;
    ruleCase.filename = "kept.upd";
    ruleCase.storage = {{"state", storage}};
    auto compiled = compile(ruleCase);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    rule = std::move(*compiled);
    shape = std::move(dimensions);
    steps = std::move(strides);
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    param.assign(count, 1);
    grad.resize(count);
    for (int64_t i = 0; i < count; ++i)
      grad[i] = float(std::sin(i));
    const upd_tensor tensor = view(param);
    upd_group group = {};
    group.params = &tensor;
    group.param_count = 1;
    upd_optimizer *created = nullptr;
    status = upd_optimizer_create(rule.get(), &group, 1, nullptr, &created);
    optimizer.reset(created);
  }

  upd_tensor view(std::vector<float> &data) {
    upd_tensor tensor = {};
    tensor.data = data.data();
    tensor.shape = shape.data();
    tensor.strides = steps.empty() ? nullptr : steps.data();
    tensor.rank = int32_t(shape.size());
    tensor.dtype = UPD_F32;
    tensor.device = UPD_CPU;
    return tensor;
  }

  void step() {
    const upd_tensor tensor = view(grad);
    ASSERT_EQ(upd_optimizer_step(optimizer.get(), &tensor, 1), UPD_OK) << upd_last_error();
  }

  upd_tensor state(const char *name) {
    upd_tensor tensor = {};
    EXPECT_EQ(upd_optimizer_state(optimizer.get(), 0, name, &tensor), UPD_OK) << upd_last_error();
    return tensor;
  }

  RuleHandle rule;
  OptimizerHandle optimizer;
  upd_status status = UPD_OK;
  std::vector<int64_t> shape, steps;
  std::vector<float> param, grad;
};

TEST_F(BlockStates, HaveViewsOfCodesAndScales) {
  step();
  const upd_tensor codes = state("kept"), scales = state("kept.scale");
  EXPECT_EQ(codes.dtype, UPD_Q8_LINEAR);
  ASSERT_EQ(codes.rank, 1);
  EXPECT_EQ(codes.shape[0], 300);
  EXPECT_EQ(scales.dtype, UPD_F32);
  ASSERT_EQ(scales.rank, 1);
  EXPECT_EQ(scales.shape[0], 2);
  const float *units = static_cast<const float *>(scales.data);
  EXPECT_TRUE(std::signbit(units[0])); // there are negative values
  EXPECT_NEAR(std::fabs(units[0]), 1 / 127.0, 1e-4);
  const auto *bytes = static_cast<const uint8_t *>(codes.data);
  for (int64_t i = 0; i < 300; ++i)
    EXPECT_NEAR((bytes[i] - 128) * std::fabs(units[i / 256]), grad[i], 0.5 / 127 + 1e-6);
  upd_tensor none;
  EXPECT_EQ(upd_optimizer_state(optimizer.get(), 0, "other.scale", &none), UPD_NOT_FOUND);
}

TEST_F(BlockStates, HaveScalesOfRowsWithMatrices) {
  create({2, 3, 300}, StorageType::Q8Companded, {},
         "rule Kept() {\n"
         "  state kept = 0\n"
         "  update(param, grad) {\n"
         "    next kept = if matrix then grad - row_mean(grad) else grad\n"
         "    next param = param - kept\n"
         "  }\n}\n");
  step();
  const upd_tensor scales = state("kept.scale");
  ASSERT_EQ(scales.rank, 3);
  EXPECT_EQ(scales.shape[0], 2);
  EXPECT_EQ(scales.shape[1], 3);
  EXPECT_EQ(scales.shape[2], 2);
  EXPECT_EQ(scales.strides[0], 6);
  EXPECT_EQ(scales.strides[1], 2);
}

TEST_F(BlockStates, AreSavedAndLoaded) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("updraft-blocks-" + std::to_string(getpid())))
          .string();
  step();
  ASSERT_EQ(upd_optimizer_save(optimizer.get(), path.c_str()), UPD_OK) << upd_last_error();
  step();
  const std::vector<float> expected = param;

  create({300});
  step(); // restores the parameter
  grad.assign(300, 7);
  step();
  ASSERT_EQ(upd_optimizer_load(optimizer.get(), path.c_str()), UPD_OK) << upd_last_error();
  for (int64_t i = 0; i < 300; ++i)
    grad[i] = float(std::sin(i));
  const upd_tensor codes = state("kept"), scales = state("kept.scale");
  EXPECT_NEAR(std::fabs(*static_cast<const float *>(scales.data)), 1 / 127.0, 1e-4);
  EXPECT_EQ(*static_cast<const uint8_t *>(codes.data), 128);

  create({300});
  ASSERT_EQ(upd_optimizer_load(optimizer.get(), path.c_str()), UPD_OK) << upd_last_error();
  param.assign(300, 1);
  for (int64_t i = 0; i < 300; ++i)
    param[i] -= 0.25f; // the first step starts from the initial value
  step();
  EXPECT_EQ(param, expected);

  create({300}, StorageType::Q8Companded);
  EXPECT_EQ(upd_optimizer_load(optimizer.get(), path.c_str()), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(upd_last_error(), "`" + path +
                                  "` does not fit the optimizer: its state `kept` is stored as "
                                  "`q8_linear`, but the rule is compiled for q8_companded; compile "
                                  "it with the storage type that the state was saved with");
  std::filesystem::remove(path);
}

TEST_F(BlockStates, MayLieInMemoryOfTheCaller) {
  std::vector<float> memory(77, 0); // 300 codes, 2 scales
  upd_tensor tensor = view(memory);
  tensor.dtype = UPD_Q8_LINEAR;
  ASSERT_EQ(upd_optimizer_bind_state(optimizer.get(), 0, "kept", &tensor), UPD_OK)
      << upd_last_error();
  step();
  EXPECT_TRUE(std::signbit(memory[75]));
  EXPECT_NE(memory[76], 0);
  EXPECT_EQ(param[0], 1); // the state was 0

  tensor.data = reinterpret_cast<char *>(memory.data()) + 2;
  EXPECT_EQ(upd_optimizer_bind_state(optimizer.get(), 0, "kept", &tensor), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(),
               "state `kept` of parameter `0` is not aligned: its codes start at a multiple of 4 "
               "bytes, since scales follow them");
}

TEST_F(BlockStates, RefuseParametersThatAreNotRowMajor) {
  create({20, 30}, StorageType::Q8Linear, {1, 20});
  EXPECT_EQ(status, UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(),
               "parameter `0` is [20, 30] with strides [1, 20], but rule `Kept` has states in "
               "blocks of 256 elements in row-major order; give a row-major tensor");
}

TEST_F(BlockStates, RefuseStepsOfSomeRows) {
  create({20, 30});
  const int64_t index = 3;
  std::vector<float> row(30, 1);
  shape = {1, 30};
  upd_row_grad grad = {};
  grad.param = 0;
  grad.indices = &index;
  grad.index_count = 1;
  grad.values = view(row);
  const upd_tensor absent = {nullptr, nullptr, nullptr, -1, UPD_F32, UPD_CPU, 0, 0};
  EXPECT_EQ(upd_optimizer_step_rows(optimizer.get(), &absent, 1, &grad, 1), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(),
               "rule `Kept` cannot step some rows of parameter `0`: its state `kept` is stored in "
               "blocks, which may have elements of several rows; give a gradient of the whole "
               "parameter");
}

} // namespace
