//===- RuleInterfaceTests.cpp - The JSON form of a rule's interface ---------------------------===//

#include "runtime/base/RuleInterface.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace updraft::runtime;

static const char *const adamw =
    R"({"format": 1, "name": "AdamW", "compute": "f32", "numerics": "ieee",
 "statics": {"amsgrad": "false", "maximize": "false"},
 "hypers": [{"name": "lr", "default": 0.001}],
 "param": "f32", "grad": "bf16",
 "states": [{"name": "exp_avg", "dtype": "f32"}],
 "messages": ["Invalid learning rate: {lr}"],
 "row_scalars": 6,
 "passes": [{"reads": [0, 1, 2], "writes": [0, 2]}]})";

TEST(RuleInterface, Parses) {
  RuleInterface interface;
  Status status = RuleInterface::parse(adamw, interface);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(interface.name, "AdamW");
  EXPECT_EQ(interface.compute, UPD_F32);
  EXPECT_EQ(interface.numerics, "ieee");
  ASSERT_EQ(interface.statics.size(), 2u);
  EXPECT_EQ(interface.statics[0].first, "amsgrad");
  EXPECT_EQ(interface.grad, UPD_BF16);
  ASSERT_EQ(interface.hypers.size(), 1u);
  EXPECT_EQ(interface.hypers[0].defaultValue, 0.001);
  EXPECT_EQ(interface.streamCount(), 3u);
  EXPECT_EQ(interface.rowScalars, 6u);
  ASSERT_EQ(interface.passes.size(), 1u);
  EXPECT_EQ(interface.passes[0].writes, (std::vector<uint32_t>{0, 2}));
}

TEST(RuleInterface, DefaultsMayBeInfinite) {
  for (double infinity : {INFINITY, -INFINITY}) {
    std::string text = adamw;
    text.replace(text.find("0.001"), 5, infinity > 0 ? R"("inf")" : R"("-inf")");
    RuleInterface interface;
    ASSERT_TRUE(RuleInterface::parse(text, interface).ok());
    EXPECT_EQ(interface.hypers[0].defaultValue, infinity);
  }
}

/// `adamw` with the first `from` replaced.
static std::string problemOf(const std::string &from, const std::string &to) {
  std::string text = adamw;
  const size_t position = text.find(from);
  EXPECT_NE(position, std::string::npos);
  text.replace(position, from.size(), to);
  RuleInterface interface;
  interface.name = "untouched";
  Status status = RuleInterface::parse(text, interface);
  EXPECT_EQ(interface.name, "untouched");
  EXPECT_TRUE(status.ok() || status.code() == UPD_INVALID_ARGUMENT);
  return status.message();
}

TEST(RuleInterface, RefusesDamage) {
  const std::string start = "interface of a compiled rule: ";
  EXPECT_EQ(problemOf("{\"format\"", "{\"format"), start + "not JSON");
  EXPECT_EQ(problemOf("\"format\": 1", "\"format\": 2"),
            start + "format 2 is not supported, only 1; compile the rule again");
  EXPECT_EQ(problemOf("\"name\": \"AdamW\", ", ""), start + "`name` is missing");
  EXPECT_EQ(problemOf("\"AdamW\"", "7"), start + "`name` is not a string");
  EXPECT_EQ(problemOf("\"AdamW\"", "\"\""), start + "`name` is empty");
  EXPECT_EQ(problemOf("\"compute\": \"f32\"", "\"compute\": \"f16\""),
            start + "`compute` is neither `f32` nor `f64`");
  EXPECT_EQ(problemOf("\"grad\": \"bf16\"", "\"grad\": \"int\""),
            start + "`grad` is not a storage type: `int`");
  EXPECT_EQ(problemOf("0.001", "null"), start + "`default` is not a number");
  EXPECT_EQ(problemOf("\"row_scalars\": 6", "\"row_scalars\": 0"),
            start + "`row_scalars` is 0, not from 1 to 65536");
  EXPECT_EQ(problemOf("\"row_scalars\": 6", "\"row_scalars\": 1e300"),
            start + "`row_scalars` is not a count");
  EXPECT_EQ(problemOf("[0, 1, 2]", "[0, 1, 3]"),
            start + "`reads` holds what is not the index of a stream");
  EXPECT_EQ(problemOf("\"writes\": [0, 2]", "\"writes\": [1]"),
            start + "a pass writes the gradient");
  EXPECT_EQ(problemOf("{\"name\": \"exp_avg\", \"dtype\": \"f32\"}", "3"),
            start + "an object was expected");
  EXPECT_EQ(problemOf("{\"name\": \"lr\", \"default\": 0.001}",
                      "{\"name\": \"lr\", \"default\": 1}, {\"name\": \"lr\", \"default\": 2}"),
            start + "hyperparameter `lr` appears twice");
}

TEST(RuleInterface, RefusesAnyPrefix) {
  const std::string text = adamw;
  for (size_t length = 0; length < text.size(); ++length) {
    RuleInterface interface;
    EXPECT_FALSE(RuleInterface::parse(text.substr(0, length), interface).ok());
  }
}
