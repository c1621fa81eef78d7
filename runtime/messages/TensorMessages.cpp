//===- TensorMessages.cpp - Tensors in messages -----------------------------------------------===//

#include "runtime/messages/TensorMessages.h"

#include "runtime/base/DType.h"

#include <array>
#include <utility>

using namespace updraft;
using namespace updraft::messages;

static constexpr std::array<std::pair<upd_dtype, worker::v1::DType>, 4> types = {
    {{UPD_F32, worker::v1::DTYPE_F32},
     {UPD_F64, worker::v1::DTYPE_F64},
     {UPD_BF16, worker::v1::DTYPE_BF16},
     {UPD_F16, worker::v1::DTYPE_F16}}};

std::optional<worker::v1::DType> messages::typeOf(upd_dtype dtype) {
  for (const auto &[own, sent] : types)
    if (own == dtype)
      return sent;
  return std::nullopt;
}

std::optional<upd_dtype> messages::typeOf(worker::v1::DType dtype) {
  for (const auto &[own, sent] : types)
    if (sent == dtype)
      return own;
  return std::nullopt;
}

worker::v1::TensorInfo messages::infoOf(const std::string &name, upd_dtype dtype,
                                        const std::vector<int64_t> &shape) {
  worker::v1::TensorInfo info;
  info.set_name(name);
  info.set_dtype(typeOf(dtype).value_or(worker::v1::DTYPE_UNSPECIFIED));
  info.mutable_shape()->Assign(shape.begin(), shape.end());
  return info;
}

size_t messages::bytesOf(const worker::v1::TensorInfo &info) {
  const auto dtype = typeOf(info.dtype());
  size_t bytes = dtype ? runtime::sizeOf(*dtype) : 0;
  for (int64_t size : info.shape())
    bytes *= static_cast<size_t>(size);
  return bytes;
}
