//===- SlicedMessage.cpp - A message whose tensor stays where it was received -----------------===//

#include "runtime/grpc/SlicedMessage.h"

#include "updraft/worker/v1/worker.pb.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <cstdint>
#include <string>

using namespace updraft::worker;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

namespace {
/// Where the data is in a message.
struct Place {
  uint32_t offset = 0, bytes = 0;
};
} // namespace

/// Copies the fields up to the input's limit. `special` is a tag whose fields `take` reads instead,
/// and copies if they are to be copied.
template <typename Take>
static bool copyFields(CodedInputStream &input, CodedOutputStream &output, uint32_t special,
                       const Take &take) {
  while (const uint32_t tag = input.ReadTag())
    if (tag == special ? !take() : !WireFormatLite::SkipField(&input, tag, &output))
      return false;
  return input.ConsumedEntireMessage();
}

static uint32_t tagOf(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

/// Copies a chunk without its data.
static bool copyChunk(CodedInputStream &input, std::string &chunk, Place &data) {
  uint32_t bytes = 0;
  if (!input.ReadVarint32(&bytes) || bytes > INT32_MAX)
    return false;
  const auto outer = input.PushLimit(static_cast<int>(bytes));
  {
    StringOutputStream stream(&chunk);
    CodedOutputStream output(&stream);
    const bool isWhole = copyFields(input, output, tagOf(v1::TensorChunk::kDataFieldNumber), [&] {
      if (!input.ReadVarint32(&data.bytes) || data.bytes > INT32_MAX)
        return false;
      data.offset = static_cast<uint32_t>(input.CurrentPosition());
      return input.Skip(static_cast<int>(data.bytes));
    });
    if (!isWhole || input.BytesUntilLimit() != 0)
      return false;
  }
  input.PopLimit(outer);
  return true;
}

bool SlicedMessage::parse(const grpc::ByteBuffer &bytes, int chunkField,
                          google::protobuf::MessageLite &message) {
  slices.clear();
  parts.clear();
  if (!bytes.Dump(&slices).ok())
    return false;
  grpc::ByteBuffer shared = bytes; // the same slices
  grpc::ProtoBufferReader reader(&shared);
  std::string rest;
  Place data;
  {
    CodedInputStream input(&reader);
    StringOutputStream stream(&rest);
    CodedOutputStream output(&stream);
    const bool isWhole = copyFields(input, output, tagOf(chunkField), [&] {
      std::string chunk;
      if (!copyChunk(input, chunk, data))
        return false;
      output.WriteTag(tagOf(chunkField));
      output.WriteVarint32(static_cast<uint32_t>(chunk.size()));
      output.WriteString(chunk);
      return true;
    });
    if (!isWhole)
      return false;
  }
  locate(data.offset, data.bytes);
  return message.ParseFromString(rest);
}

void SlicedMessage::locate(size_t offset, size_t bytes) {
  for (const grpc::Slice &slice : slices) {
    if (bytes == 0)
      return;
    if (offset >= slice.size()) {
      offset -= slice.size();
      continue;
    }
    const size_t count = std::min(bytes, slice.size() - offset);
    parts.emplace_back(reinterpret_cast<const char *>(slice.begin()) + offset, count);
    bytes -= count;
    offset = 0;
  }
}
