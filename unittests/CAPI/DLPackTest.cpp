//===- DLPackTest.cpp - updraft-c/dlpack.h ----------------------------------------------------===//
// python/tests/test_dlpack_in_c.py exchanges tensors with numpy through the same functions.

#include "updraft-c/dlpack.h"
#include "updraft-c/compiler.h"

#include "runtime/capi/DLPackStructs.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

namespace {
constexpr const char *source =
    "rule Kept() {\n  state kept = 0 : q8_linear\n  update(param, grad) {\n"
    "    next kept = grad\n    next param = param - grad\n  }\n}\n";

/// A DLPack tensor [2, 3] in column-major order, four bytes after the start of its memory.
struct Exported {
  float memory[7] = {0, 1, 4, 2, 5, 3, 6};
  int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
  DLManagedTensorVersioned managed{
      {1, 7}, nullptr, nullptr, 0, {memory, {1, 3}, 2, {kDLFloat, 32, 1}, shape, strides, 4}};
};

TEST(DLPack, IsViewed) {
  Exported from;
  upd_tensor view;
  ASSERT_EQ(upd_tensor_from_dlpack(&from.managed, &view), UPD_OK) << upd_last_error();
  EXPECT_EQ(view.data, from.memory + 1);
  EXPECT_EQ(view.shape, from.shape);
  EXPECT_EQ(view.strides, from.strides);
  EXPECT_EQ(view.rank, 2);
  EXPECT_EQ(view.dtype, UPD_F32);
  EXPECT_EQ(view.device, UPD_CPU);
  EXPECT_EQ(view.device_index, 3);
  EXPECT_EQ(view.read_only, 0);
  from.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  from.managed.dl_tensor.data = nullptr;
  ASSERT_EQ(upd_tensor_from_dlpack(&from.managed, &view), UPD_OK);
  EXPECT_NE(view.read_only, 0);
  EXPECT_EQ(view.data, nullptr);
}

TEST(DLPack, HasTheElementTypes) {
  const struct {
    DLDataType theirs;
    upd_dtype ours;
  } types[] = {{{kDLFloat, 32, 1}, UPD_F32},
               {{kDLFloat, 64, 1}, UPD_F64},
               {{kDLBfloat, 16, 1}, UPD_BF16},
               {{kDLFloat, 16, 1}, UPD_F16},
               {{kDLInt, 8, 1}, UPD_I8}};
  for (const auto &[theirs, ours] : types) {
    Exported from;
    from.managed.dl_tensor.dtype = theirs;
    upd_tensor view;
    ASSERT_EQ(upd_tensor_from_dlpack(&from.managed, &view), UPD_OK) << upd_last_error();
    EXPECT_EQ(view.dtype, ours);
  }
}

TEST(DLPack, OfOtherKindsIsRefused) {
  auto refusal = [](DLDataType type, uint32_t major) -> std::string {
    Exported from;
    from.managed.dl_tensor.dtype = type;
    from.managed.version.major = major;
    upd_tensor view{};
    view.rank = 7;
    EXPECT_EQ(upd_tensor_from_dlpack(&from.managed, &view), UPD_UNSUPPORTED);
    EXPECT_EQ(view.rank, 7);
    return upd_last_error();
  };
  const std::string known = "; the element types are f32, f64, bf16, f16 and i8";
  EXPECT_EQ(refusal({kDLUInt, 8, 1}, 1),
            "the DLPack tensor has elements of type code 1 with 8 bits and 1 lanes" + known);
  EXPECT_EQ(refusal({kDLInt, 64, 1}, 1),
            "the DLPack tensor has elements of type code 0 with 64 bits and 1 lanes" + known);
  EXPECT_EQ(refusal({kDLFloat, 32, 4}, 1),
            "the DLPack tensor has elements of type code 2 with 32 bits and 4 lanes" + known);
  EXPECT_EQ(refusal({kDLFloat, 32, 1}, 2),
            "the tensor is of DLPack 2.7; this library takes those of 1.x, which an exporter is "
            "asked for with max_version");
  EXPECT_EQ(upd_tensor_from_dlpack(nullptr, nullptr), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "managed is null");
  const Exported from;
  EXPECT_EQ(upd_tensor_from_dlpack(&from.managed, nullptr), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "tensor, where the result goes, is null");
}

/// An optimizer of a parameter from DLPack.
class OfDLPack : public testing::Test {
protected:
  OfDLPack() {
    upd_compile_options options{};
    options.struct_size = sizeof(options);
    options.cache_dir = "";
    EXPECT_EQ(upd_compile(source, std::strlen(source), nullptr, &options, &rule), UPD_OK)
        << upd_last_error();
    // States in blocks need row-major parameters.
    param.strides[0] = 3, param.strides[1] = 1;
    upd_tensor view{};
    EXPECT_EQ(upd_tensor_from_dlpack(&param.managed, &view), UPD_OK);
    upd_group group{};
    group.params = &view;
    group.param_count = 1;
    EXPECT_EQ(upd_optimizer_create(rule, &group, 1, nullptr, &optimizer), UPD_OK)
        << upd_last_error();
  }
  ~OfDLPack() override {
    upd_optimizer_release(optimizer);
    upd_rule_release(rule);
  }
  void step() {
    Exported grad;
    grad.strides[0] = 3, grad.strides[1] = 1;
    upd_tensor view{};
    ASSERT_EQ(upd_tensor_from_dlpack(&grad.managed, &view), UPD_OK);
    ASSERT_EQ(upd_optimizer_step(optimizer, &view, 1), UPD_OK) << upd_last_error();
  }

  Exported param;
  upd_rule *rule = nullptr;
  upd_optimizer *optimizer = nullptr;
};

TEST_F(OfDLPack, StatesOutliveTheOptimizer) {
  step();
  EXPECT_EQ(param.memory[6], 0);
  DLManagedTensorVersioned *codes = nullptr, *scales = nullptr;
  ASSERT_EQ(upd_optimizer_state_to_dlpack(optimizer, 0, "kept", &codes), UPD_OK)
      << upd_last_error();
  ASSERT_EQ(upd_optimizer_state_to_dlpack(optimizer, 0, "kept.scale", &scales), UPD_OK);
  upd_optimizer_release(optimizer);
  optimizer = nullptr;
  EXPECT_EQ(codes->version.major, 1u);
  EXPECT_EQ(codes->flags, 0u);
  EXPECT_EQ(codes->dl_tensor.device.device_type, UPD_CPU);
  EXPECT_EQ(codes->dl_tensor.ndim, 2);
  EXPECT_EQ(codes->dl_tensor.shape[1], 3);
  EXPECT_EQ(codes->dl_tensor.strides[0], 3);
  EXPECT_EQ(codes->dl_tensor.dtype.code, kDLUInt);
  EXPECT_EQ(scales->dl_tensor.ndim, 1);
  EXPECT_EQ(scales->dl_tensor.dtype.code, kDLFloat);
  const auto largest = static_cast<float>(static_cast<uint8_t *>(codes->dl_tensor.data)[5]);
  EXPECT_NEAR(largest * std::fabs(*static_cast<float *>(scales->dl_tensor.data)), 6, 1e-5);
  codes->deleter(codes);
  scales->deleter(scales);
}

TEST_F(OfDLPack, MissingStatesAreNotExported) {
  DLManagedTensorVersioned *managed = &param.managed;
  EXPECT_EQ(upd_optimizer_state_to_dlpack(optimizer, 0, "kept", &managed), UPD_NOT_FOUND);
  EXPECT_EQ(managed, nullptr);
  EXPECT_STREQ(upd_last_error(), "parameter `0` has no state yet; it gets it with its first step");
  EXPECT_EQ(upd_optimizer_state_to_dlpack(optimizer, 0, "kept", nullptr), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "managed, where the result goes, is null");
}
} // namespace
