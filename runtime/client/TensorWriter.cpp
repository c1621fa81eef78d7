//===- TensorWriter.cpp - Streams tensors to a worker -----------------------------------------===//

#include "runtime/client/TensorWriter.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <cstring>
#include <utility>

using namespace updraft::dist;
using google::protobuf::MessageLite;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

/// More than gRPC holds at the same time for one stream.
static constexpr size_t mostFree = 8;

grpc::Slice MessageMemory::take(size_t bytes, char *&data) {
  std::unique_ptr<Block> block;
  {
    const std::lock_guard guard(mutex);
    if (!free.empty()) {
      block = std::move(free.back());
      free.pop_back();
    }
  }
  if (!block)
    block = std::make_unique<Block>();
  if (block->capacity < bytes) {
    block->data.reset(new char[bytes]);
    block->capacity = bytes;
  }
  block->owner = shared_from_this();
  data = block->data.get();
  return {data, bytes, giveBack, block.release()};
}

void MessageMemory::giveBack(void *given) {
  std::unique_ptr<Block> block(static_cast<Block *>(given));
  const std::shared_ptr<MessageMemory> owner = std::move(block->owner);
  const std::lock_guard guard(owner->mutex);
  if (owner->free.size() < mostFree)
    owner->free.push_back(std::move(block));
}

static uint8_t *writeLength(int field, size_t bytes, uint8_t *to) {
  to = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), to);
  return CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(bytes), to);
}

static size_t lengthBytes(int field, size_t bytes) {
  uint8_t written[16];
  return static_cast<size_t>(writeLength(field, bytes, written) - written);
}

bool TensorWriter::write(const MessageLite &request) {
  const size_t bytes = request.ByteSizeLong();
  char *data = nullptr;
  const grpc::Slice slice = memory.take(bytes, data);
  request.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t *>(data));
  return writer->Write(grpc::ByteBuffer(&slice, 1));
}

bool TensorWriter::write(const MessageLite &request, int chunkField,
                         const proto::TensorChunk &chunk, std::string_view data) {
  const int dataField = proto::TensorChunk::kDataFieldNumber;
  const size_t requestBytes = request.ByteSizeLong();
  const size_t inChunk = chunk.ByteSizeLong() + lengthBytes(dataField, data.size()) + data.size();
  char *message = nullptr;
  const grpc::Slice slice =
      memory.take(requestBytes + lengthBytes(chunkField, inChunk) + inChunk, message);
  // The order of fields in a message doesn't matter.
  auto *to = reinterpret_cast<uint8_t *>(message);
  to = request.SerializeWithCachedSizesToArray(to);
  to = writeLength(chunkField, inChunk, to);
  to = chunk.SerializeWithCachedSizesToArray(to);
  to = writeLength(dataField, data.size(), to);
  if (!data.empty())
    std::memcpy(to, data.data(), data.size());
  return writer->Write(grpc::ByteBuffer(&slice, 1));
}

grpc::Status TensorWriter::finish() {
  writer->WritesDone();
  return writer->Finish();
}
