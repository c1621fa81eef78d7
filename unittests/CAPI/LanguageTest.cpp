//===- LanguageTest.cpp - updraft-c/language.h ------------------------------------------------===//

#include "updraft-c/language.h"

#include "updraft-c/compiler.h"

#include <algorithm>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using testing::StartsWith;

namespace {
TEST(LanguageCAPI, ListsFunctionsAndTransforms) {
  std::vector<std::string> functions, transforms;
  for (size_t i = 0; i < upd_function_count(); ++i)
    functions.push_back(upd_function_name(i) + ("/" + std::to_string(upd_function_arity(i))));
  for (size_t i = 0; i < upd_transform_count(); ++i)
    transforms.push_back(upd_transform_name(i));
  EXPECT_THAT(functions, testing::IsSupersetOf({"abs/1", "lerp/3", "max/1", "max/2", "random/0"}));
  EXPECT_TRUE(std::is_sorted(functions.begin(), functions.end()));
  EXPECT_THAT(transforms, testing::IsSupersetOf({"clip_by_global_norm", "unscale"}));
  EXPECT_EQ(upd_function_name(SIZE_MAX), nullptr);
  EXPECT_EQ(upd_function_arity(SIZE_MAX), 0u);
  EXPECT_EQ(upd_transform_name(SIZE_MAX), nullptr);
}

TEST(LanguageCAPI, ListsStorageTypes) {
  std::vector<std::string> types;
  for (size_t i = 0; i < upd_storage_type_count(); ++i)
    types.push_back(upd_storage_type_name(i));
  EXPECT_THAT(types, testing::ElementsAre("f32", "f64", "bf16", "f16", "bf16_stochastic",
                                          "bf16_corrected", "q8_linear", "q8_companded"));
  EXPECT_EQ(upd_storage_type_name(types.size()), nullptr);
}

TEST(LanguageCAPI, Formats) {
  char *text = nullptr;
  std::string source = "fn f( x )=x+1";
  ASSERT_EQ(upd_format(source.data(), source.size(), nullptr, &text), UPD_OK) << upd_last_error();
  EXPECT_STREQ(text, "fn f(x) = x + 1\n");
  upd_string_release(text);
  source = "fn f(";
  EXPECT_EQ(upd_format(source.data(), source.size(), "f.upd", &text), UPD_COMPILE_ERROR);
  EXPECT_EQ(text, nullptr);
  EXPECT_THAT(upd_last_error(), StartsWith("f.upd:1:6: error: expected"));
  // The text isn't cut at a null character.
  source = std::string("fn f(x) = x // a\0b\nfn g(x) = x\n", 31);
  EXPECT_NE(upd_format(source.data(), source.size(), "f.upd", &text), UPD_OK);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(upd_format(nullptr, 0, nullptr, &text), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "source, or formatted, where the result goes, is null");
}
} // namespace
