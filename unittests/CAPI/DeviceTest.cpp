//===- DeviceTest.cpp - Targets and devices of the C API --------------------------------------===//

#include "runtime/base/EmulatorDevice.h"
#include "updraft-c/compiler.h"
#include "updraft-c/optimizer.h"
#include "updraft-c/timeline.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

using updraft::runtime::emulatorDevice;

namespace {

const char rule[] = "rule Heavy(lr = 0.5) {\n"
                    "  state mean = 0\n"
                    "  update(param, grad) {\n"
                    "    let m = mean / 2 + grad\n"
                    "    next mean = m\n"
                    "    next param = param - lr * m\n"
                    "  }\n"
                    "}\n";

upd_status compileFor(const char *target, upd_rule **made) {
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.cache_dir = "";
  options.target = target;
  return upd_compile(rule, std::strlen(rule), "heavy.upd", &options, made);
}

std::string refusalOf(const char *target) {
  upd_rule *made = nullptr;
  const upd_status status = compileFor(target, &made);
  EXPECT_NE(status, UPD_OK) << target;
  EXPECT_EQ(made, nullptr);
  return upd_last_error();
}

/// One parameter on the emulator.
class OnEmulator : public testing::Test {
protected:
  OnEmulator() {
    EXPECT_EQ(compileFor("emulator", &compiled), UPD_OK) << upd_last_error();
    group.params = &param;
    group.param_count = 1;
  }
  ~OnEmulator() override {
    upd_optimizer_release(optimizer);
    upd_rule_release(compiled);
  }

  upd_tensor view(float *data, upd_device device = emulatorDevice) const {
    upd_tensor tensor{};
    tensor.data = data;
    tensor.shape = shape;
    tensor.rank = 1;
    tensor.dtype = UPD_F32;
    tensor.device = device;
    return tensor;
  }
  upd_status create() { return upd_optimizer_create(compiled, &group, 1, nullptr, &optimizer); }

  const int64_t shape[1] = {3};
  float w[3] = {1, 2, 3}, g[3] = {1, 1, 1};
  upd_tensor param = view(w);
  upd_group group{};
  upd_rule *compiled = nullptr;
  upd_optimizer *optimizer = nullptr;
};

} // namespace

TEST(Targets, UnknownNamesAreRefused) {
  EXPECT_EQ(refusalOf("aarch64"),
            "unknown target `aarch64`; the targets are `host`, `cuda`, "
            "`cuda:1` (and so on), `nvptx:sm_80`, `nvptx:sm_90`, `nvptx:sm_100`, `emulator`, "
            "`emulator:256`");
  EXPECT_EQ(refusalOf("cuda:x"),
            "unknown target `cuda:x`; a GPU is `cuda`, or `cuda:1` with its number");
  EXPECT_EQ(refusalOf("nvptx:sm_1"),
            "unknown target `nvptx:sm_1`; the GPUs are `nvptx:sm_80`, `nvptx:sm_90`, "
            "`nvptx:sm_100`, `emulator`, `emulator:256`");
  EXPECT_EQ(refusalOf("emulater"), "unknown target `emulater`; did you mean `emulator`?");
  EXPECT_EQ(refusalOf("emulator:265"), "unknown target `emulator:265`; did you mean "
                                       "`emulator:256`?");
  EXPECT_EQ(refusalOf("CUDA"), "unknown target `CUDA`; did you mean `cuda`?");
}

TEST(Targets, MissingGPUsAreRefused) {
  upd_rule *made = nullptr;
  const upd_status status = compileFor("cuda:4095", &made);
  EXPECT_TRUE(status == UPD_UNSUPPORTED || status == UPD_INVALID_ARGUMENT);
  EXPECT_NE(std::string(upd_last_error()), "");
  EXPECT_EQ(made, nullptr);
}

TEST(Targets, OfGPUsNeedNoGPU) {
  upd_rule *made = nullptr;
  ASSERT_EQ(compileFor("nvptx:sm_90", &made), UPD_OK) << upd_last_error();
  EXPECT_EQ(upd_rule_device(made), UPD_CUDA);
  EXPECT_STREQ(upd_rule_target(made), "nvptx:sm_90");
  upd_rule_release(made);
}

TEST_F(OnEmulator, StepsWhereTheParametersAre) {
  EXPECT_EQ(upd_rule_device(compiled), emulatorDevice);
  ASSERT_EQ(create(), UPD_OK) << upd_last_error();
  const upd_tensor grad = view(g);
  ASSERT_EQ(upd_optimizer_set_stream(optimizer, nullptr), UPD_OK);
  ASSERT_EQ(upd_optimizer_prepare_rows(optimizer, &grad, 1, nullptr, 0), UPD_OK);
  EXPECT_EQ(w[0], 1);
  ASSERT_EQ(upd_optimizer_apply(optimizer), UPD_OK);
  EXPECT_EQ(w[0], 0.5f);
  EXPECT_EQ(upd_optimizer_apply(optimizer), UPD_INVALID_ARGUMENT);
  upd_tensor state;
  ASSERT_EQ(upd_optimizer_state(optimizer, 0, "mean", &state), UPD_OK);
  EXPECT_EQ(state.device, emulatorDevice);
  EXPECT_EQ(static_cast<float *>(state.data)[2], 1);
  ASSERT_EQ(upd_optimizer_set_step(optimizer, 0, 7), UPD_OK);
  ASSERT_EQ(upd_optimizer_step(optimizer, &grad, 1), UPD_OK);
  int64_t step;
  ASSERT_EQ(upd_optimizer_get_step(optimizer, 0, &step), UPD_OK);
  EXPECT_EQ(step, 8);
}

TEST_F(OnEmulator, MayHaveNoParameters) {
  group.param_count = 0;
  for (size_t groups : {size_t(0), size_t(1)}) {
    ASSERT_EQ(upd_optimizer_create(compiled, &group, groups, nullptr, &optimizer), UPD_OK)
        << upd_last_error();
    EXPECT_EQ(upd_optimizer_set_stream(optimizer, nullptr), UPD_OK);
    EXPECT_EQ(upd_optimizer_step(optimizer, nullptr, 0), UPD_OK) << upd_last_error();
    upd_optimizer_release(optimizer);
    optimizer = nullptr;
  }
}

TEST_F(OnEmulator, AbandonsAStepThatWasPreparedForAnotherStream) {
  ASSERT_EQ(create(), UPD_OK) << upd_last_error();
  const upd_tensor grad = view(g);
  ASSERT_EQ(upd_optimizer_prepare_rows(optimizer, &grad, 1, nullptr, 0), UPD_OK);
  ASSERT_EQ(upd_optimizer_set_stream(optimizer, nullptr), UPD_OK); // the same stream
  ASSERT_EQ(upd_optimizer_apply(optimizer), UPD_OK);
  ASSERT_EQ(upd_optimizer_prepare_rows(optimizer, &grad, 1, nullptr, 0), UPD_OK);
  ASSERT_EQ(upd_optimizer_set_stream(optimizer, &group), UPD_OK);
  EXPECT_EQ(upd_optimizer_apply(optimizer), UPD_INVALID_ARGUMENT);
  ASSERT_EQ(upd_optimizer_step(optimizer, &grad, 1), UPD_OK);
}

TEST_F(OnEmulator, RefusesTensorsThatAreElsewhere) {
  ASSERT_EQ(create(), UPD_OK) << upd_last_error();
  const upd_tensor grad = view(g, UPD_CPU);
  EXPECT_EQ(upd_optimizer_step(optimizer, &grad, 1), UPD_UNSUPPORTED);
  EXPECT_STREQ(upd_last_error(), "gradient of parameter `0` is on the CPU, but the optimizer works "
                                 "on the emulator; copy it there");
  upd_optimizer_release(optimizer);
  float v[3];
  const upd_tensor both[] = {view(w), view(v, UPD_CUDA)};
  group.params = both;
  group.param_count = 2;
  EXPECT_EQ(create(), UPD_UNSUPPORTED);
  EXPECT_STREQ(upd_last_error(), "parameter `1` is on cuda:0, but the optimizer works on the "
                                 "emulator; copy it there");
  EXPECT_EQ(optimizer, nullptr);
}

TEST_F(OnEmulator, RefusesMatricesWithMoreColumnsThanAKernelCounts) {
  const std::string text = "rule R() {\n"
                           "  update(param, grad) {\n"
                           "    next param = param - (if matrix then row_sum(grad) else grad)\n"
                           "  }\n"
                           "}\n";
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.cache_dir = "";
  options.target = "emulator";
  upd_rule_release(compiled);
  ASSERT_EQ(upd_compile(text.data(), text.size(), "rows.upd", &options, &compiled), UPD_OK)
      << upd_last_error();
  const int64_t tooMany[2] = {1, int64_t(1) << 31};
  param.shape = tooMany;
  param.rank = 2;
  EXPECT_EQ(create(), UPD_UNSUPPORTED);
  EXPECT_STREQ(upd_last_error(), "parameter `0` is [1, 2147483648]; a step on a GPU takes matrices "
                                 "of up to 2147483647 rows and columns");
}

TEST_F(OnEmulator, MayWorkOnTheCPU) {
  param = view(w, UPD_CPU);
  ASSERT_EQ(create(), UPD_OK) << upd_last_error();
  const upd_tensor grad = view(g);
  EXPECT_EQ(upd_optimizer_step(optimizer, &grad, 1), UPD_UNSUPPORTED);
  EXPECT_STREQ(upd_last_error(), "gradient of parameter `0` is on the emulator, but the optimizer "
                                 "works on the CPU; copy it there");
}

TEST_F(OnEmulator, RefusesTensorsWithoutADevice) {
  const upd_device none{}, pinned = static_cast<upd_device>(3), other = static_cast<upd_device>(8);
  const char *noDevice =
      "parameter `0` is on no device, for `device` of its upd_tensor is not set; "
      "set it to UPD_CPU or UPD_CUDA";
  param = view(w, none);
  EXPECT_EQ(create(), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), noDevice);
  param = view(w);
  ASSERT_EQ(create(), UPD_OK) << upd_last_error();
  upd_tensor grad = view(g, none);
  EXPECT_EQ(upd_optimizer_step(optimizer, &grad, 1), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "gradient of parameter `0` is on no device, for `device` of its "
                                 "upd_tensor is not set; set it to UPD_CPU or UPD_CUDA");
  EXPECT_EQ(upd_optimizer_bind_hyper(optimizer, 0, "lr", &grad), UPD_INVALID_ARGUMENT);
  grad = view(g, pinned);
  EXPECT_EQ(upd_optimizer_step(optimizer, &grad, 1), UPD_UNSUPPORTED);
  EXPECT_STREQ(upd_last_error(), "gradient of parameter `0` is on the host, in pinned memory, but "
                                 "the optimizer works on the emulator; copy it there");
  grad = view(g, other);
  EXPECT_EQ(upd_optimizer_step(optimizer, &grad, 1), UPD_UNSUPPORTED);
  EXPECT_STREQ(upd_last_error(), "gradient of parameter `0` is on a device that Updraft does not "
                                 "know, type 8 of DLPack, but the optimizer works on the emulator; "
                                 "copy it there");
}

TEST_F(OnEmulator, StepsSomeRows) {
  ASSERT_EQ(create(), UPD_OK) << upd_last_error();
  const int64_t indices[] = {2, 7}, one = 1;
  upd_row_grad rows{};
  rows.indices = indices;
  rows.index_count = 1;
  rows.values = view(g);
  rows.values.shape = &one;
  ASSERT_EQ(upd_optimizer_step_rows(optimizer, nullptr, 0, nullptr, 0), UPD_OK);
  EXPECT_EQ(w[2], 3);
  ASSERT_EQ(upd_optimizer_step_rows(optimizer, nullptr, 0, &rows, 1), UPD_OK) << upd_last_error();
  EXPECT_EQ(w[2], 2.5f);
  ASSERT_EQ(upd_optimizer_prepare_rows(optimizer, nullptr, 0, &rows, 1), UPD_OK);
  EXPECT_EQ(w[2], 2.5f);
  ASSERT_EQ(upd_optimizer_apply(optimizer), UPD_OK);
  EXPECT_EQ(w[2], 1.75f);
  // The host doesn't read the second index before the step, and the device skips it.
  const int64_t two = 2;
  rows.index_count = 2;
  rows.values.shape = &two;
  ASSERT_EQ(upd_optimizer_step_rows(optimizer, nullptr, 0, &rows, 1), UPD_OK) << upd_last_error();
  EXPECT_EQ(w[2], 0.875f);
  EXPECT_EQ(w[0], 1);
  int64_t step = 0;
  ASSERT_EQ(upd_optimizer_get_step(optimizer, 0, &step), UPD_OK);
  EXPECT_EQ(step, 3);
}

TEST_F(OnEmulator, RefusesRowsThatItCannotRead) {
  ASSERT_EQ(create(), UPD_OK) << upd_last_error();
  const int64_t indices[] = {0, 1, 2, 3}, one = 1;
  upd_row_grad rows{};
  rows.index_count = 1;
  rows.values = view(g);
  rows.values.shape = &one;
  auto refusal = [&] {
    EXPECT_NE(upd_optimizer_step_rows(optimizer, nullptr, 0, &rows, 1), UPD_OK);
    return std::string(upd_last_error());
  };
  EXPECT_EQ(refusal(), "the indices of parameter `0` are null, but index_count is 1");
  rows.indices = reinterpret_cast<const int64_t *>(reinterpret_cast<const char *>(indices) + 4);
  EXPECT_EQ(refusal(),
            "the indices of parameter `0` are not aligned: they start at a multiple of 8 bytes");
  rows.indices = indices;
  rows.values.device = UPD_CPU;
  EXPECT_EQ(refusal(), "gradient of parameter `0` is on the CPU, but the optimizer works on the "
                       "emulator; copy it there");
  rows.values.device = emulatorDevice;
  rows.values.data = w;
  EXPECT_EQ(refusal(), "gradient of parameter `0` overlaps parameter `0`; a step only reads "
                       "gradients, so give it memory of its own");
  rows.index_count = 4;
  EXPECT_EQ(refusal(), "there are 4 indices for the 3 rows of parameter `0`; give each row once");
}

TEST_F(OnEmulator, RefusesInvalidStepCounts) {
  ASSERT_EQ(create(), UPD_OK) << upd_last_error();
  float count = 0.5;
  upd_tensor number = view(&count);
  number.rank = 0;
  EXPECT_EQ(upd_optimizer_bind_step(optimizer, 1, &number), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "parameter 1 does not exist; the optimizer has 1");
  EXPECT_EQ(upd_optimizer_bind_step(optimizer, 0, &number), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(),
               "the step count of parameter `0` is 0.5; it is a whole number from "
               "0 to 2^53");
  number.dtype = UPD_BF16;
  EXPECT_EQ(upd_optimizer_bind_step(optimizer, 0, &number), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(),
               "the step count of parameter `0` is neither f32 nor f64; give a number of "
               "one of these types");
  number.dtype = UPD_F32;
  number.read_only = 1;
  EXPECT_EQ(upd_optimizer_bind_step(optimizer, 0, &number), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "the step count of parameter `0` is read-only, but a step writes "
                                 "it; give a copy that is not");
  number.read_only = 0;
  number.data = w;
  EXPECT_EQ(upd_optimizer_bind_step(optimizer, 0, &number), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "the step count of parameter `0` overlaps parameter `0`; give it "
                                 "memory of its own");
  const upd_tensor grad = view(g);
  ASSERT_EQ(upd_optimizer_step(optimizer, &grad, 1), UPD_OK);
  int64_t step;
  ASSERT_EQ(upd_optimizer_get_step(optimizer, 0, &step), UPD_OK);
  EXPECT_EQ(step, 1);
}

TEST_F(OnEmulator, TheTimelineShowsKernelsInTheStep) {
  ASSERT_EQ(create(), UPD_OK) << upd_last_error();
  const upd_tensor grad = view(g);
  const std::string path = testing::TempDir() + "kernels.json";
  ASSERT_EQ(upd_timeline_start(), UPD_OK) << upd_last_error();
  EXPECT_EQ(upd_optimizer_step(optimizer, &grad, 1), UPD_OK) << upd_last_error();
  ASSERT_EQ(upd_timeline_stop(path.c_str()), UPD_OK) << upd_last_error();
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t apply = text.find(R"("name":"apply Heavy","cat":"step")");
  const size_t kernel = text.find(R"("name":"Heavy_sweep0 on the emulator","cat":"kernel")");
  EXPECT_LT(apply, kernel) << text;
  EXPECT_NE(kernel, std::string::npos) << text;
  std::remove(path.c_str());
}
