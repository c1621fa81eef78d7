//===- TensorStreamTests.cpp - Tensors in chunks ----------------------------------------------===//

#include "Tensors.h"
#include "runtime/grpc/TensorStream.h"
#include "runtime/messages/TensorMessages.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

using namespace updraft;
using namespace updraft::worker;
using server::Reason;
using server::refusalOf;

namespace {

class TensorStreamTest : public testing::Test {
protected:
  v1::TensorChunk first(const std::string &name, v1::DType dtype, std::vector<int64_t> shape,
                        const std::string &data = "") {
    v1::TensorChunk chunk = next(data);
    chunk.mutable_tensor()->set_name(name);
    chunk.mutable_tensor()->set_dtype(dtype);
    chunk.mutable_tensor()->mutable_shape()->Assign(shape.begin(), shape.end());
    return chunk;
  }
  static v1::TensorChunk next(const std::string &data) {
    v1::TensorChunk chunk;
    chunk.set_data(data);
    return chunk;
  }

  void read(const v1::TensorChunk &chunk) { reader.read(chunk, {chunk.data()}); }

  server::Budget budget{1000};
  std::vector<std::pair<std::string, server::Tensor>> taken;
  TensorReader reader{budget, [this](const std::string &name, server::Tensor tensor) {
                        taken.emplace_back(name, std::move(tensor));
                      }};
};

} // namespace

TEST_F(TensorStreamTest, ArriveAsTheyWereSent) {
  const server::Tensor tensor = server::tensorOf({1, 2, 3, 4, 5, 6}, {2, 3}, budget);
  for (size_t chunkBytes : {1, 7, 24, 100}) {
    taken.clear();
    ASSERT_TRUE(messages::writeChunks(
        messages::infoOf("w", tensor.dtype(), tensor.shape()), tensor.data(), tensor.bytes(),
        [&](const v1::TensorChunk &chunk) {
          EXPECT_LE(chunk.data().size(), chunkBytes);
          read(chunk);
          return true;
        },
        chunkBytes));
    reader.finish();
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].first, "w");
    EXPECT_EQ(taken[0].second.shape(), tensor.shape());
    EXPECT_EQ(valuesOf(taken[0].second), valuesOf(tensor));
  }
}

TEST_F(TensorStreamTest, WithoutElementsAreOneChunk) {
  int chunks = 0;
  messages::writeChunks(messages::infoOf("w", UPD_BF16, {0, 3}), nullptr, 0,
                        [&](const v1::TensorChunk &chunk) {
                          ++chunks;
                          read(chunk);
                          return true;
                        });
  EXPECT_EQ(chunks, 1);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].second.dtype(), UPD_BF16);
}

TEST_F(TensorStreamTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusalOf(Reason::InvalidArgument, [&] { read(next("abcd")); }),
            "a chunk belongs to no tensor: the first chunk of each tensor names it");
  EXPECT_EQ(
      refusalOf(Reason::InvalidArgument, [&] { read(first("w", v1::DTYPE_F32, {1}, "12345")); }),
      "tensor `w` is f32 [1], which is 4 bytes, but more came");
  EXPECT_EQ(
      refusalOf(Reason::InvalidArgument, [&] { read(first("w", v1::DTYPE_UNSPECIFIED, {1})); }),
      "tensor `w` has 4 bytes, but only 0 came");
}

TEST_F(TensorStreamTest, RefusesUnknownTypesAndNames) {
  EXPECT_EQ(
      refusalOf(Reason::InvalidArgument, [&] { read(first("w", static_cast<v1::DType>(9), {1})); }),
      "tensor `w` has the type 9; this worker knows F32, F64, BF16 and F16");
  EXPECT_EQ(refusalOf(Reason::InvalidArgument, [&] { read(first("", v1::DTYPE_F32, {1})); }),
            "the name of a tensor has from 1 to 256 bytes, and no control characters");
}

TEST_F(TensorStreamTest, RefusesBeforeItAllocates) {
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { read(first("w", v1::DTYPE_F64, {126})); }),
            "tensor `w` needs 1008 bytes; 1000 of the worker's 1000 bytes are free");
}

TEST_F(TensorStreamTest, KnowsWhatIsMissing) {
  read(first("w", v1::DTYPE_F32, {2}, "1234"));
  EXPECT_EQ(refusalOf(Reason::InvalidArgument, [&] { reader.finish(); }),
            "tensor `w` has 8 bytes, but only 4 came");
  EXPECT_EQ(refusalOf(Reason::InvalidArgument, [&] { read(first("v", v1::DTYPE_F32, {1})); }),
            "tensor `w` has 8 bytes, but only 4 came");
}
