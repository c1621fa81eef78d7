//===- LastErrorTest.cpp - Versions and messages of updraft-c/types.h -------------------------===//

#include "updraft-c/compiler.h"
#include "updraft-c/language.h"

#include <gtest/gtest.h>
#include <string>
#include <thread>

namespace {
TEST(LastError, IsOfTheThreadAndOutlivesSuccess) {
  std::string before, after, other;
  std::thread([&] {
    before = upd_last_error();
    char *text = nullptr;
    ASSERT_EQ(upd_format(nullptr, 0, nullptr, &text), UPD_INVALID_ARGUMENT);
    std::thread([&] { other = upd_last_error(); }).join();
    ASSERT_EQ(upd_format("", 0, nullptr, &text), UPD_OK);
    upd_string_release(text);
    after = upd_last_error();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(other, "");
  EXPECT_EQ(after, "source, or formatted, where the result goes, is null");
}

TEST(APIVersion, IsThatOfTheHeaders) { EXPECT_EQ(upd_api_version(), UPD_API_VERSION); }
} // namespace
