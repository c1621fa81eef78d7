//===- TensorStream.cpp - Tensors in chunks ---------------------------------------------------===//

#include "runtime/grpc/TensorStream.h"

#include "runtime/server/Refusal.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace updraft;
using namespace updraft::worker;
using server::Reason;
using server::Refusal;

static upd_dtype typeOf(const v1::TensorInfo &info) {
  switch (info.dtype()) {
  case v1::DTYPE_F32:
    return UPD_F32;
  case v1::DTYPE_F64:
    return UPD_F64;
  case v1::DTYPE_BF16:
    return UPD_BF16;
  case v1::DTYPE_F16:
    return UPD_F16;
  default:
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("tensor `{}` has the type {}; this worker knows F32, F64, BF16 and "
                              "F16",
                              info.name(), static_cast<int>(info.dtype())));
  }
}

static v1::DType typeOf(upd_dtype dtype) {
  switch (dtype) {
  case UPD_F64:
    return v1::DTYPE_F64;
  case UPD_BF16:
    return v1::DTYPE_BF16;
  case UPD_F16:
    return v1::DTYPE_F16;
  default:
    return v1::DTYPE_F32;
  }
}

void TensorReader::start(const v1::TensorInfo &info) {
  finish();
  if (info.name().empty())
    throw Refusal(Reason::InvalidArgument, "a tensor has no name");
  name = info.name();
  tensor = server::Tensor(typeOf(info), {info.shape().begin(), info.shape().end()}, budget,
                          fmt::format("tensor `{}`", name));
  received = 0;
  isWithin = true;
}

void TensorReader::read(const v1::TensorChunk &chunk) {
  if (chunk.has_tensor())
    start(chunk.tensor());
  if (!isWithin)
    throw Refusal(Reason::InvalidArgument,
                  "a chunk belongs to no tensor: the first chunk of each tensor names it");
  const std::string &data = chunk.data();
  if (data.size() > tensor.bytes() - received)
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("tensor `{}` is {}, which is {} bytes, but more came", name,
                              server::textOf(tensor.dtype(), tensor.shape()), tensor.bytes()));
  if (!data.empty())
    std::memcpy(tensor.data() + received, data.data(), data.size());
  received += data.size();
  if (received == tensor.bytes()) {
    isWithin = false;
    taken(name, std::move(tensor));
  }
}

void TensorReader::finish() const {
  if (isWithin)
    throw Refusal(Reason::InvalidArgument, fmt::format("tensor `{}` has {} bytes, but only {} came",
                                                       name, tensor.bytes(), received));
}

v1::TensorInfo updraft::worker::infoOf(const std::string &name, upd_dtype dtype,
                                       const server::Shape &shape) {
  v1::TensorInfo info;
  info.set_name(name);
  info.set_dtype(typeOf(dtype));
  info.mutable_shape()->Assign(shape.begin(), shape.end());
  return info;
}

bool updraft::worker::writeTensor(const std::string &name, upd_dtype dtype,
                                  const server::Shape &shape, const char *data, size_t bytes,
                                  size_t chunkBytes,
                                  const std::function<bool(const v1::TensorChunk &)> &write) {
  v1::TensorChunk chunk;
  *chunk.mutable_tensor() = infoOf(name, dtype, shape);
  for (size_t sent = 0;;) {
    const size_t count = std::min(chunkBytes, bytes - sent);
    if (count != 0)
      chunk.set_data(data + sent, count);
    if (!write(chunk))
      return false;
    sent += count;
    if (sent == bytes)
      return true;
    chunk.clear_tensor();
  }
}
