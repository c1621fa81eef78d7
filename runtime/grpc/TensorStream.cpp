//===- TensorStream.cpp - Tensors in chunks ---------------------------------------------------===//

#include "runtime/grpc/TensorStream.h"

#include "runtime/messages/TensorMessages.h"
#include "runtime/server/Names.h"
#include "runtime/server/Refusal.h"

#include <cstring>
#include <fmt/format.h>

using namespace updraft;
using namespace updraft::worker;
using server::Reason;
using server::Refusal;

/// As many as files of tensors may have.
static constexpr int mostDimensions = 64;

static upd_dtype typeOf(const v1::TensorInfo &info) {
  if (const auto dtype = messages::typeOf(info.dtype()))
    return *dtype;
  throw Refusal(Reason::InvalidArgument,
                fmt::format("tensor `{}` has the type {}; this worker knows F32, F64, BF16 and F16",
                            info.name(), static_cast<int>(info.dtype())));
}

void TensorReader::start(const v1::TensorInfo &info) {
  finish();
  server::checkName(info.name(), "the name of a tensor");
  if (info.shape().size() > mostDimensions)
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("tensor `{}` has {} dimensions; a worker takes at most {}",
                              info.name(), info.shape().size(), mostDimensions));
  name = info.name();
  tensor = server::Tensor(typeOf(info), {info.shape().begin(), info.shape().end()}, budget,
                          fmt::format("tensor `{}`", name));
  received = 0;
  isWithin = true;
}

void TensorReader::read(const v1::TensorChunk &chunk, const std::vector<std::string_view> &data) {
  if (chunk.has_tensor())
    start(chunk.tensor());
  if (!isWithin)
    throw Refusal(Reason::InvalidArgument,
                  "a chunk belongs to no tensor: the first chunk of each tensor names it");
  for (std::string_view part : data) {
    if (part.size() > tensor.bytes() - received)
      throw Refusal(Reason::InvalidArgument,
                    fmt::format("tensor `{}` is {}, which is {} bytes, but more came", name,
                                server::textOf(tensor.dtype(), tensor.shape()), tensor.bytes()));
    if (!part.empty())
      std::memcpy(tensor.data() + received, part.data(), part.size());
    received += part.size();
  }
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
