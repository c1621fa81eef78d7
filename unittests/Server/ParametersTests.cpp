//===- ParametersTests.cpp - The parameters on a worker ---------------------------------------===//

#include "Tensors.h"
#include "runtime/server/Parameters.h"

#include <gtest/gtest.h>

#include <limits>

using namespace updraft::server;

namespace {

class ParametersTest : public testing::Test {
protected:
  Budget budget{1000};
  ParameterStore store;
  Recorder recorder;
};

} // namespace

TEST_F(ParametersTest, AreWrittenWhereTheyAre) {
  store.put("w", vectorOf({1, 2}, budget), recorder);
  const std::shared_ptr<Parameter> parameter = store.find({"w"})[0];
  const void *data = parameter->tensor.data();
  store.put("w", vectorOf({3, 4}, budget), recorder);
  EXPECT_EQ(parameter->tensor.data(), data);
  EXPECT_EQ(valuesOf(parameter->tensor), (std::vector<float>{3, 4}));
  EXPECT_EQ(parameter->version, 2u);
  EXPECT_EQ(budget.used(), 8u);
}

TEST_F(ParametersTest, KeepTheirTypeAndShape) {
  store.put("w", vectorOf({1, 2}, budget), recorder);
  EXPECT_EQ(refusalOf(Reason::AlreadyExists,
                      [&] { store.put("w", tensorOf({1, 2}, {1, 2}, budget), recorder); }),
            "parameter `w` is f32 [2], not f32 [1, 2]; give the other another name");
}

TEST_F(ParametersTest, ThatAreMissingAreNamed) {
  store.put("w", vectorOf({1}, budget), recorder);
  EXPECT_EQ(refusalOf(Reason::NotFound, [&] { store.find({"v", "w", "x"}); }),
            "the worker has no parameters `v`, `x`; put them first");
}

TEST_F(ParametersTest, FitIntoTheBudget) {
  const Tensor most = vectorOf(std::vector<float>(200), budget);
  EXPECT_EQ(
      refusalOf(Reason::ResourceExhausted, [&] { Tensor(UPD_F64, {26}, budget, "tensor `w`"); }),
      "tensor `w` needs 208 bytes; 200 of the worker's 1000 bytes are free");
  const Tensor rest(UPD_F64, {25}, budget, "tensor `w`");
  EXPECT_EQ(budget.used(), 1000u);
}

TEST_F(ParametersTest, HaveShapesThatMemoryCanHold) {
  constexpr int64_t large = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(refusalOf(Reason::InvalidArgument, [&] { Tensor(UPD_F32, {3, -1}, budget, "x"); }),
            "x has the shape [3, -1]; a dimension is at least 0");
  EXPECT_EQ(refusalOf(Reason::InvalidArgument, [&] { Tensor(UPD_F32, {large, 4}, budget, "x"); }),
            "x has the shape [9223372036854775807, 4], which no memory can hold");
  const Tensor empty(UPD_F32, {large, 0, large}, budget, "x");
  EXPECT_EQ(empty.bytes(), 0u);
  const Tensor scalar(UPD_F32, {}, budget, "x");
  EXPECT_EQ(scalar.bytes(), 4u);
}
