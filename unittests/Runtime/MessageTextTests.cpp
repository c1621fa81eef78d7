//===- MessageTextTests.cpp - Numbers and names in messages -----------------------------------===//

#include "runtime/base/MessageText.h"

#include <gtest/gtest.h>
#include <limits>

using namespace updraft::runtime;

TEST(MessageText, NumbersAsPythonWritesThem) {
  EXPECT_EQ(numberText(0.001), "0.001");
  EXPECT_EQ(numberText(1e-8), "1e-08");
  EXPECT_EQ(numberText(-1), "-1.0");
  EXPECT_EQ(numberText(0), "0.0");
  EXPECT_EQ(numberText(-0.0), "-0.0");
  EXPECT_EQ(numberText(0.0001), "0.0001");
  EXPECT_EQ(numberText(0.00001), "1e-05");
  EXPECT_EQ(numberText(123456789), "123456789.0");
  EXPECT_EQ(numberText(1e15), "1000000000000000.0");
  EXPECT_EQ(numberText(1e16), "1e+16");
  EXPECT_EQ(numberText(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(numberText(std::numeric_limits<double>::infinity()), "inf");
}

TEST(MessageText, FillsInValues) {
  const std::vector<std::string> names = {"lr", "eps"};
  const double values[] = {-1, 1e-8};
  EXPECT_EQ(fillMessage("Invalid learning rate: {lr}", names, values),
            "Invalid learning rate: -1.0");
  EXPECT_EQ(fillMessage("{eps}{lr}", names, values), "1e-08-1.0");
  EXPECT_EQ(fillMessage("{{lr}} is {lr}", names, values), "{lr} is -1.0");
  EXPECT_EQ(fillMessage("{unknown} {lr", names, values), "{unknown} {lr");
  EXPECT_EQ(fillMessage("}}{{", names, values), "}{");
  EXPECT_EQ(fillMessage("", names, values), "");
}

TEST(MessageText, Hints) {
  EXPECT_EQ(nameHint("lrr", {"lr", "eps"}), "; did you mean `lr`?");
  EXPECT_EQ(nameHint("weight_deca", {"lr", "weight_decay"}), "; did you mean `weight_decay`?");
  EXPECT_EQ(nameHint("sdg", {"lion", "sgd"}), "; did you mean `sgd`?");
  EXPECT_EQ(nameHint("x", {"lr", "eps"}), "; there are `lr`, `eps`");
  EXPECT_EQ(nameHint("x", {"eps"}), "; there is `eps`");
  EXPECT_EQ(nameHint("x", {}), "");
}
