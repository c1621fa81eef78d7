//===- SlicedMessageTests.cpp - Messages whose tensors stay where they were received ----------===//

#include "runtime/grpc/SlicedMessage.h"
#include "updraft/worker/v1/worker.pb.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace updraft::worker;

namespace {

class SlicedMessageTest : public testing::Test {
protected:
  bool parse(const std::string &bytes, size_t sliceBytes = 1000) {
    std::vector<grpc::Slice> slices;
    for (size_t start = 0; start < bytes.size(); start += sliceBytes)
      slices.emplace_back(bytes.substr(start, sliceBytes));
    return sliced.parse(grpc::ByteBuffer(slices.data(), slices.size()),
                        v1::PushGradientsRequest::kChunkFieldNumber, message);
  }
  std::string data() const {
    std::string result;
    for (std::string_view part : sliced.data())
      result += part;
    return result;
  }

  SlicedMessage sliced;
  v1::PushGradientsRequest message;
};

v1::PushGradientsRequest request(const std::string &data) {
  v1::PushGradientsRequest result;
  result.mutable_context()->set_optimizer("opt");
  result.mutable_request()->set_sequence(3);
  result.mutable_chunk()->mutable_tensor()->set_name("w");
  result.mutable_chunk()->set_data(data);
  result.mutable_rows()->add_indices(5); // comes after the chunk
  return result;
}

} // namespace

TEST_F(SlicedMessageTest, EverythingButTheDataIsParsed) {
  for (const std::string &sent : {std::string(), std::string("0123456789"), std::string(300, 'x')})
    for (size_t sliceBytes : {1, 2, 3, 7, 64, 1000}) {
      v1::PushGradientsRequest expected = request(sent);
      ASSERT_TRUE(parse(expected.SerializeAsString(), sliceBytes));
      EXPECT_EQ(data(), sent);
      expected.mutable_chunk()->clear_data();
      EXPECT_EQ(message.DebugString(), expected.DebugString());
    }
}

TEST_F(SlicedMessageTest, AChunkMayBeAbsent) {
  v1::PushGradientsRequest expected = request("0123");
  ASSERT_TRUE(parse(expected.SerializeAsString()));
  expected.clear_chunk();
  ASSERT_TRUE(parse(expected.SerializeAsString()));
  EXPECT_FALSE(message.has_chunk());
  EXPECT_EQ(data(), "");
}

TEST_F(SlicedMessageTest, TheOrderOfFieldsDoesNotMatter) {
  v1::TensorChunk named, filled;
  named.mutable_tensor()->set_name("w");
  filled.set_data("0123");
  const std::string chunk = filled.SerializeAsString() + named.SerializeAsString();
  ASSERT_TRUE(parse(std::string{'\x1a', static_cast<char>(chunk.size())} + chunk));
  EXPECT_EQ(message.chunk().tensor().name(), "w");
  EXPECT_EQ(data(), "0123");
}

TEST_F(SlicedMessageTest, OfSeveralDataTheLastCounts) {
  v1::PushGradientsRequest second;
  second.mutable_chunk()->set_data("new");
  ASSERT_TRUE(parse(request("0123").SerializeAsString() + second.SerializeAsString()));
  EXPECT_EQ(message.chunk().tensor().name(), "w"); // protobuf merges the chunks
  EXPECT_EQ(data(), "new");
}

TEST_F(SlicedMessageTest, NoPartOfAMessageIsOne) {
  const std::string bytes = request("0123456789").SerializeAsString();
  v1::PushGradientsRequest whole;
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_EQ(parse(bytes.substr(0, length)), whole.ParseFromString(bytes.substr(0, length)))
        << length;
}

TEST_F(SlicedMessageTest, DamagedMessagesAreJudgedAsByProtobuf) {
  const std::string bytes = request("0123456789").SerializeAsString();
  v1::PushGradientsRequest whole;
  for (size_t place = 0; place < bytes.size(); ++place)
    for (int value = 0; value < 256; ++value) {
      std::string damaged = bytes;
      damaged[place] = static_cast<char>(value);
      const bool isValid = whole.ParseFromString(damaged);
      ASSERT_EQ(parse(damaged), isValid) << place << " " << value;
      if (isValid) {
        EXPECT_EQ(data(), whole.chunk().data()) << place << " " << value;
      }
    }
}
