//===- ResultTest.cpp - updraft/Result.h ------------------------------------------------------===//

#include "updraft/Result.h"

#include <gtest/gtest.h>

#include <memory>

using namespace updraft;

namespace {

Error missing() { return {UPD_NOT_FOUND, "unknown state `m`"}; }

TEST(Result, HoldsAValue) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  ASSERT_TRUE(result);
  EXPECT_EQ(**result, 7);
  EXPECT_EQ(*result.value(), 7);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, HoldsAnError) {
  const Result<int> result = missing();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, UPD_NOT_FOUND);
  EXPECT_EQ(result.error().message, "unknown state `m`");
}

TEST(Result, ThrowsIfThereIsNoValue) {
  Result<int> result = missing();
  try {
    result.value();
    FAIL() << "no exception";
  } catch (const Exception &exception) {
    EXPECT_EQ(exception.code(), UPD_NOT_FOUND);
    EXPECT_STREQ(exception.what(), "unknown state `m`");
  }
  EXPECT_THROW(std::move(result).value(), std::runtime_error);
}

TEST(Result, OfVoidIsSuccessOrAnError) {
  Result<void> result;
  EXPECT_TRUE(result);
  EXPECT_NO_THROW(result.value());
  EXPECT_TRUE(Result<void>(UPD_OK));
  result = missing();
  EXPECT_FALSE(result);
  EXPECT_THROW(result.value(), Exception);
}

} // namespace
