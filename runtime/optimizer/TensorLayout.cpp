//===- TensorLayout.cpp - Shapes and strides of dense tensors ---------------------------------===//

#include "runtime/optimizer/TensorLayout.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <numeric>

using namespace updraft::runtime;

static std::string listText(const int64_t *values, int32_t count) {
  return fmt::format("[{}]", fmt::join(values, values + count, ", "));
}

std::string updraft::runtime::layoutText(const upd_tensor &tensor) {
  if (tensor.rank < 0 || tensor.rank > maxRank)
    return fmt::format("of rank {}", tensor.rank);
  if (tensor.rank > 0 && !tensor.shape)
    return "with a null shape";
  std::string text = listText(tensor.shape, tensor.rank);
  if (tensor.rank > 0 && tensor.strides)
    text += " with strides " + listText(tensor.strides, tensor.rank);
  return text;
}

std::string updraft::runtime::shapeText(const TensorLayout &layout) {
  return listText(layout.shape, layout.rank);
}

std::string updraft::runtime::layoutText(const TensorLayout &layout) {
  return shapeText(layout) +
         (layout.rank > 0 ? " with strides " + listText(layout.strides, layout.rank) : "");
}

std::string updraft::runtime::otherLayoutText(const std::string &subject, const upd_tensor &tensor,
                                              const TensorLayout &layout,
                                              const std::string &owner) {
  const bool readable =
      tensor.rank >= 0 && tensor.rank <= maxRank && (tensor.rank == 0 || tensor.shape);
  if (!readable || !std::equal(tensor.shape, tensor.shape + tensor.rank, layout.shape,
                               layout.shape + layout.rank))
    return fmt::format("{} is {}, but {} is {}; give a tensor of the same shape and "
                       "strides",
                       subject, readable ? listText(tensor.shape, tensor.rank) : layoutText(tensor),
                       owner, shapeText(layout));
  return fmt::format("{} is {}, but {} has strides {}; give a tensor of the same "
                     "strides",
                     subject, layoutText(tensor) + (tensor.strides ? "" : ", row-major"), owner,
                     listText(layout.strides, layout.rank));
}

/// Whether the elements fill contiguous memory, without overlap. Then, sorted by stride, each
/// dimension starts where the one before ends.
static bool isDense(const int64_t *shape, const int64_t *strides, int32_t rank) {
  int32_t order[maxRank];
  std::iota(order, order + rank, 0);
  int32_t *end = std::remove_if(order, order + rank, [&](int32_t i) { return shape[i] == 1; });
  std::sort(order, end, [&](int32_t a, int32_t b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (int32_t *i = order; i != end; ++i) {
    if (strides[*i] != expected)
      return false;
    expected *= shape[*i];
  }
  return true;
}

Status updraft::runtime::readLayout(const upd_tensor &tensor, const std::string &subject,
                                    std::vector<int64_t> &dimensions, TensorLayout &layout) {
  if (tensor.rank < 0 || tensor.rank > maxRank)
    return invalidArgument(
        fmt::format("{} has rank {}; a rank is from 0 to {}", subject, tensor.rank, maxRank));
  if (tensor.rank > 0 && !tensor.shape)
    return invalidArgument(
        fmt::format("{} has rank {}, but its shape is null", subject, tensor.rank));

  // At most 2^48 elements, so that no number of bytes overflows.
  constexpr int64_t maxElements = int64_t(1) << 48;
  int64_t nonzero = 1;
  bool empty = false;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    const int64_t size = tensor.shape[i];
    if (size < 0)
      return invalidArgument(fmt::format("{} has shape {}; a size is at least 0", subject,
                                         listText(tensor.shape, tensor.rank)));
    if (size == 0)
      empty = true;
    else if (nonzero > maxElements / size)
      return invalidArgument(fmt::format("{} has shape {}, more than 2^48 elements", subject,
                                         listText(tensor.shape, tensor.rank)));
    else
      nonzero *= size;
  }
  layout.elements = empty ? 0 : nonzero;
  layout.rank = tensor.rank;
  layout.rowMajor = true;

  const size_t start = dimensions.size();
  dimensions.insert(dimensions.end(), tensor.shape, tensor.shape + tensor.rank);
  dimensions.resize(start + 2 * static_cast<size_t>(tensor.rank));
  int64_t *strides = dimensions.data() + start + tensor.rank;
  int64_t rowMajor = 1;
  for (int32_t i = tensor.rank - 1; i >= 0; --i) {
    strides[i] = rowMajor;
    rowMajor *= std::max<int64_t>(tensor.shape[i], 1);
  }
  layout.shape = dimensions.data() + start;
  layout.strides = strides;
  if (!tensor.strides || empty)
    return {};
  for (int32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.shape[i] == 1)
      continue;
    if (tensor.strides[i] != strides[i])
      layout.rowMajor = false;
    strides[i] = tensor.strides[i];
  }
  if (!layout.rowMajor && !isDense(tensor.shape, tensor.strides, tensor.rank)) {
    if (std::any_of(strides, strides + tensor.rank, [](int64_t stride) { return stride < 0; }))
      return invalidArgument(fmt::format("{} runs backwards in memory: {}; give the tensor that it "
                                         "is a reversed view of, or a copy",
                                         subject, layoutText(tensor)));
    return invalidArgument(
        fmt::format("{} is not dense: {}; give a contiguous tensor, or each part that is one",
                    subject, layoutText(tensor)));
  }
  return {};
}

Status updraft::runtime::checkMemory(const upd_tensor &tensor, const TensorDevice &device,
                                     upd_dtype expected, int64_t elements,
                                     const std::string &subject, const std::string &wanted) {
  if (!isKnownDType(tensor.dtype))
    return invalidArgument(fmt::format("{} has the unknown dtype {}; the values are those of "
                                       "upd_dtype",
                                       subject, int32_t{tensor.dtype}));
  if (tensor.dtype != expected)
    return invalidArgument(fmt::format("{} is {}, but the rule is compiled for {} {}; convert it, "
                                       "or compile the rule with this storage type",
                                       subject, nameOf(tensor.dtype), nameOf(expected), wanted));
  if (int32_t{tensor.device} == 0)
    return invalidArgument(fmt::format("{} is on no device, for `device` of its upd_tensor is not "
                                       "set; set it to UPD_CPU or UPD_CUDA",
                                       subject));
  if (!device.has(tensor))
    return {UPD_UNSUPPORTED,
            fmt::format("{} is on {}, but {} {}; copy it there", subject,
                        TensorDevice::of(tensor).text(),
                        device.isOnlyOne ? "the rule is compiled for" : "the optimizer works on",
                        device.text())};
  if (elements == 0)
    return {};
  if (!tensor.data)
    return invalidArgument(
        fmt::format("{} has {} elements, but its data is null", subject, elements));
  const uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data);
  if (address % sizeOf(expected) != 0)
    return invalidArgument(fmt::format("{} is not aligned: {} elements start at multiples of {} "
                                       "bytes",
                                       subject, nameOf(expected), sizeOf(expected)));
  if (address > std::numeric_limits<uintptr_t>::max() - elements * sizeOf(expected))
    return invalidArgument(fmt::format("{} reaches beyond the end of memory", subject));
  return {};
}
