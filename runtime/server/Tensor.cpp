//===- Tensor.cpp - Tensors that a server owns ------------------------------------------------===//

#include "runtime/server/Tensor.h"

#include "runtime/base/DType.h"
#include "runtime/server/Refusal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

using namespace updraft::server;
using updraft::runtime::nameOf;
using updraft::runtime::sizeOf;

std::string updraft::server::textOf(upd_dtype dtype, const Shape &shape) {
  return fmt::format("{} [{}]", nameOf(dtype), fmt::join(shape, ", "));
}

int64_t updraft::server::elementsOf(const Shape &shape, const std::string &what) {
  // 16 bytes is more than any element has, so the number of bytes fits, too.
  constexpr int64_t largest = std::numeric_limits<int64_t>::max() / 16;
  int64_t count = 1;
  bool isEmpty = false, fits = true;
  for (int64_t size : shape) {
    if (size < 0)
      throw Refusal(Reason::InvalidArgument,
                    fmt::format("{} has the shape [{}]; a dimension is at least 0", what,
                                fmt::join(shape, ", ")));
    isEmpty |= size == 0;
    fits = fits && (size == 0 || count <= largest / size);
    count = fits && size != 0 ? count * size : count;
  }
  if (isEmpty)
    return 0;
  if (!fits)
    throw Refusal(Reason::InvalidArgument,
                  fmt::format("{} has the shape [{}], which no memory can hold", what,
                              fmt::join(shape, ", ")));
  return count;
}

size_t updraft::server::bytesOf(upd_dtype dtype, const Shape &shape, const std::string &what) {
  return static_cast<size_t>(elementsOf(shape, what)) * sizeOf(dtype);
}

Tensor::Tensor(upd_dtype dtype, Shape shape, Budget &budget, const std::string &what)
    : type(dtype), dimensions(std::move(shape)), count(elementsOf(dimensions, what)),
      memory(budget.allocate(bytes(), what)) {
  if (bytes() != 0 && !memory.data())
    throw Refusal(Reason::ResourceExhausted,
                  fmt::format("the machine has no memory for {}, of {} bytes", what, bytes()));
}

size_t Tensor::bytes() const { return static_cast<size_t>(count) * sizeOf(type); }

upd_tensor Tensor::view() const {
  upd_tensor result{};
  result.data = memory.data();
  result.shape = dimensions.data();
  result.rank = static_cast<int32_t>(dimensions.size());
  result.dtype = type;
  result.device = UPD_CPU;
  return result;
}
