//===- updraft/Tensor.h - Views of tensors ------------------------------------------*- C++ -*-===//
// Views of the program's memory, as upd_tensor of the C API. They own no elements: the elements of
// a parameter must outlive its optimizer, and those of a gradient must exist during the step.

#ifndef UPDRAFT_TENSOR_H
#define UPDRAFT_TENSOR_H

#include "updraft/Result.h"
#include "updraft/Span.h"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace updraft {
inline namespace v1 {

/// The upd_dtype of a C++ type. Specialize it for 16-bit types that the program has:
///   template <> struct updraft::ElementType<MyBFloat16> {
///     static constexpr upd_dtype value = UPD_BF16;
///   };
template <typename T> struct ElementType {};
template <> struct ElementType<float> {
  static constexpr upd_dtype value = UPD_F32;
};
template <> struct ElementType<double> {
  static constexpr upd_dtype value = UPD_F64;
};
template <> struct ElementType<int8_t> {
  static constexpr upd_dtype value = UPD_I8;
};

/// A view of one tensor, with its own copy of the shape and strides. A view of `const` elements is
/// read-only: it serves as a gradient but not as a parameter.
class TensorView {
public:
  /// One dimension: all elements of a container with `data()` and `size()`, or of an array.
  template <typename Range, typename Pointer = decltype(std::data(std::declval<Range &>())),
            typename Element = std::remove_pointer_t<Pointer>,
            upd_dtype = ElementType<std::remove_const_t<Element>>::value>
  TensorView(Range &range)
      : TensorView(std::data(range), {static_cast<int64_t>(std::size(range))}) {}

  /// Elements in row-major order. `data` points to the first one.
  template <typename T, upd_dtype type = ElementType<std::remove_const_t<T>>::value>
  TensorView(T *data, Span<const int64_t> shape)
      : TensorView(const_cast<std::remove_const_t<T> *>(data), type, shape) {
    tensor.read_only = std::is_const_v<T>;
  }

  /// The same for elements of a type that C++ doesn't know.
  TensorView(void *data, upd_dtype dtype, Span<const int64_t> shape)
      : sizes(shape.begin(), shape.end()) {
    tensor.data = data;
    tensor.dtype = dtype;
    tensor.rank = static_cast<int32_t>(sizes.size());
    tensor.device = UPD_CPU;
  }

  /// Any tensor: with strides, or on a GPU.
  TensorView(const upd_tensor &view) : tensor(view) {
    if (view.rank > 0 && view.shape)
      sizes.assign(view.shape, view.shape + view.rank);
    if (view.rank > 0 && view.strides)
      steps.assign(view.strides, view.strides + view.rank);
  }

  /// A gradient that is absent.
  static TensorView absent() {
    upd_tensor tensor{};
    tensor.rank = UPD_ABSENT;
    return tensor;
  }

  Span<const int64_t> shape() const { return sizes; }
  /// In elements; empty for a tensor in row-major order.
  Span<const int64_t> strides() const { return steps; }
  upd_dtype dtype() const { return tensor.dtype; }
  void *data() const { return tensor.data; }

  /// The tensor for the C API, which points to the shape in this object.
  upd_tensor get() const {
    upd_tensor result = tensor;
    result.shape = sizes.empty() ? nullptr : sizes.data();
    result.strides = steps.empty() ? nullptr : steps.data();
    return result;
  }

  /// The elements of a row-major tensor on the CPU. An error if they have another type or layout.
  template <typename T> Result<Span<T>> elements() const;

private:
  static const char *nameOf(upd_dtype dtype) {
    switch (dtype) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  case constant:                                                                                   \
    return name;
#include "updraft-c/dtypes.def"
    }
    return "of an unknown type";
  }

  upd_tensor tensor{};
  std::vector<int64_t> sizes, steps;
};

/// Views in a row: the parameters of a group, or one gradient for each parameter. Make it once and
/// use it in every step. If the memory of a gradient moves, change `list[i].data`.
class TensorList {
public:
  TensorList() = default;
  TensorList(std::initializer_list<TensorView> list) {
    for (const TensorView &view : list)
      add(view);
  }
  TensorList(const TensorList &other) {
    for (const upd_tensor &tensor : other.tensors)
      add(tensor);
  }
  TensorList(TensorList &&) noexcept = default;
  TensorList &operator=(TensorList other) noexcept {
    views.swap(other.views);
    tensors.swap(other.tensors);
    return *this;
  }

  void add(TensorView view) {
    views.push_back(std::move(view));
    tensors.push_back(views.back().get());
  }

  size_t size() const { return tensors.size(); }
  upd_tensor *data() { return tensors.data(); }
  const upd_tensor *data() const { return tensors.data(); }
  upd_tensor &operator[](size_t index) { return tensors[index]; }
  const upd_tensor &operator[](size_t index) const { return tensors[index]; }

private:
  std::vector<TensorView> views; // keep the shapes, whose addresses don't change
  std::vector<upd_tensor> tensors;
};

template <typename T> Result<Span<T>> TensorView::elements() const {
  size_t count = 1;
  int64_t expected = 1;
  bool contiguous = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    contiguous &= steps.empty() || sizes[i] == 1 || steps[i] == expected;
    expected *= sizes[i];
    count *= static_cast<size_t>(sizes[i]);
  }
  if (tensor.rank == UPD_ABSENT)
    return Error{UPD_INVALID_ARGUMENT, "the gradient is absent; it has no elements"};
  if (tensor.device != UPD_CPU)
    return Error{UPD_UNSUPPORTED, "the tensor is on a GPU; copy its elements to the CPU first"};
  constexpr upd_dtype asked = ElementType<std::remove_const_t<T>>::value;
  if (tensor.dtype != asked)
    return Error{UPD_INVALID_ARGUMENT, std::string("the elements are ") + nameOf(tensor.dtype) +
                                           ", but " + nameOf(asked) + " was asked for"};
  if (!contiguous && count != 0)
    return Error{UPD_INVALID_ARGUMENT, "the elements are not in row-major order; use `data()` and "
                                       "`strides()`"};
  if (tensor.read_only && !std::is_const_v<T>)
    return Error{UPD_INVALID_ARGUMENT, "the tensor is read-only; ask for `const` elements"};
  return Span<T>(static_cast<T *>(tensor.data), count);
}

} // namespace v1
} // namespace updraft

#endif // UPDRAFT_TENSOR_H
