//===- Utf8Tests.cpp - Validation of UTF-8 ----------------------------------------------------===//

#include "runtime/base/Utf8.h"

#include <gtest/gtest.h>
#include <string>

using updraft::runtime::isUtf8;

TEST(Utf8, AcceptsEveryLength) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(isUtf8(""));
  EXPECT_TRUE(isUtf8("a\0b"sv));
  EXPECT_TRUE(isUtf8("\x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf"));
  EXPECT_TRUE(isUtf8("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"));
}

TEST(Utf8, RefusesInvalidSequences) {
  for (const std::string bytes :
       {"\xff", "\x80", "\xc2", "\xc2 ", "\xe0\xa0", "\xf0\x90\x80", "\xf5\x80\x80\x80", "\xc0\x80",
        "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", // overlong
        "\xed\xa0\x80", "\xed\xbf\xbf",                 // surrogates
        "\xf4\x90\x80\x80"})
    EXPECT_FALSE(isUtf8("a" + bytes + "b")) << testing::PrintToString(bytes);
}
