//===- TensorTest.cpp - updraft/Tensor.h and updraft/Span.h -----------------------------------===//

#include "updraft/Tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>

using namespace updraft;
using testing::ElementsAre;

namespace {
struct BFloat16 {
  uint16_t bits;
};
} // namespace

template <> struct updraft::ElementType<BFloat16> {
  static constexpr upd_dtype value = UPD_BF16;
};

namespace {

// A view of a temporary container would dangle; int isn't an element type.
static_assert(!std::is_constructible_v<TensorView, std::vector<float>>);
static_assert(!std::is_constructible_v<TensorView, std::vector<int> &>);
static_assert(!std::is_constructible_v<Span<float>, const std::vector<float> &>);

TEST(TensorView, ViewsContainersAndArrays) {
  std::vector<float> vector(3);
  std::array<double, 2> array{};
  int8_t plain[5] = {};
  BFloat16 half[4] = {};
  for (const auto &[view, data, dtype, size] :
       std::initializer_list<std::tuple<TensorView, const void *, upd_dtype, int64_t>>{
           {vector, vector.data(), UPD_F32, 3},
           {array, array.data(), UPD_F64, 2},
           {plain, plain, UPD_I8, 5},
           {half, half, UPD_BF16, 4}}) {
    EXPECT_EQ(view.data(), data);
    EXPECT_EQ(view.dtype(), dtype);
    EXPECT_THAT(view.shape(), ElementsAre(size));
    EXPECT_EQ(view.get().strides, nullptr);
    EXPECT_EQ(view.get().device, UPD_CPU);
    EXPECT_EQ(view.get().read_only, 0);
  }
}

TEST(TensorView, OfConstElementsIsReadOnly) {
  const std::vector<float> vector(3);
  EXPECT_EQ(TensorView(vector).get().read_only, 1);
  EXPECT_EQ(TensorView(vector.data(), {1, 3}).get().read_only, 1);
  std::vector<float> other(3);
  std::span<const float> span(other);
  EXPECT_EQ(TensorView(span).get().read_only, 1);
}

TEST(TensorView, TakesAShape) {
  std::vector<float> elements(6);
  const TensorView matrix(elements.data(), {2, 3});
  EXPECT_THAT(matrix.shape(), ElementsAre(2, 3));
  const upd_tensor tensor = matrix.get();
  EXPECT_EQ(tensor.rank, 2);
  EXPECT_EQ(tensor.shape[1], 3);
  EXPECT_EQ(TensorView(elements.data(), {}).get().rank, 0);
  EXPECT_EQ(TensorView(elements.data(), UPD_F16, {12}).dtype(), UPD_F16);
}

TEST(TensorView, KeepsStridesAndDevicesOfTheCApi) {
  float data[6] = {};
  int64_t shape[] = {2, 3}, strides[] = {1, 2};
  upd_tensor tensor{};
  tensor.data = data;
  tensor.shape = shape;
  tensor.strides = strides;
  tensor.rank = 2;
  tensor.device = UPD_CUDA;
  tensor.device_index = 1;
  const TensorView view = tensor;
  shape[0] = strides[0] = 9;
  EXPECT_THAT(view.shape(), ElementsAre(2, 3));
  EXPECT_THAT(view.strides(), ElementsAre(1, 2));
  const TensorView copy = view;
  EXPECT_NE(copy.get().shape, view.get().shape);
  EXPECT_EQ(copy.get().device_index, 1);
}

TEST(TensorView, GivesItsElements) {
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  const TensorView view(data.data(), {2, 3});
  const Span<float> elements = view.elements<float>().value();
  EXPECT_EQ(elements.data(), data.data());
  EXPECT_EQ(elements.size(), 6u);
  EXPECT_EQ(view.elements<const float>().value()[5], 6);
  const Result<Span<double>> wrong = view.elements<double>();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, UPD_INVALID_ARGUMENT);
  EXPECT_EQ(wrong.error().message, "the elements are f32, but f64 was asked for");
}

TEST(TensorView, RefusesElementsThatAreElsewhereOrReadOnly) {
  std::vector<float> data(6);
  const int64_t shape[] = {2, 3}, strides[] = {1, 2};
  upd_tensor tensor = TensorView(data).get();
  tensor.shape = shape;
  tensor.rank = 2;
  EXPECT_TRUE(TensorView(tensor).elements<float>());
  tensor.strides = strides;
  EXPECT_EQ(TensorView(tensor).elements<float>().error().message,
            "the elements are not in row-major order; use `data()` and `strides()`");
  tensor.strides = nullptr;
  tensor.read_only = 1;
  EXPECT_TRUE(TensorView(tensor).elements<const float>());
  EXPECT_EQ(TensorView(tensor).elements<float>().error().message,
            "the tensor is read-only; ask for `const` elements");
  tensor.device = UPD_CUDA;
  const Result<Span<const float>> onGpu = TensorView(tensor).elements<const float>();
  EXPECT_EQ(onGpu.error().code, UPD_UNSUPPORTED);
  EXPECT_EQ(onGpu.error().message, "the tensor is on a GPU; copy its elements to the CPU first");
  const Result<Span<float>> absent = TensorView::absent().elements<float>();
  EXPECT_EQ(absent.error().code, UPD_INVALID_ARGUMENT);
  EXPECT_EQ(absent.error().message, "the gradient is absent; it has no elements");
}

TEST(TensorList, HasTheTensorsInARow) {
  std::vector<float> first(6), second(3);
  TensorList list = {{first.data(), {2, 3}}, second, TensorView::absent()};
  ASSERT_EQ(list.size(), 3u);
  const Span<const upd_tensor> tensors = list;
  EXPECT_EQ(tensors[0].shape[1], 3);
  EXPECT_EQ(tensors[1].data, second.data());
  EXPECT_EQ(tensors[2].rank, UPD_ABSENT);
  // Shapes keep their addresses while the list grows.
  const int64_t *shape = list[0].shape;
  for (int i = 0; i < 100; ++i)
    list.add(second);
  EXPECT_EQ(list[0].shape, shape);
}

TEST(TensorList, CopiesShapes) {
  std::vector<float> data(6), moved(6);
  auto original = std::make_unique<TensorList>(TensorList{{data.data(), {2, 3}}});
  (*original)[0].data = moved.data();
  TensorList copy = *original, assigned;
  assigned = *original;
  original.reset();
  for (const TensorList *list : {&copy, &assigned}) {
    ASSERT_EQ(list->size(), 1u);
    EXPECT_EQ((*list)[0].data, moved.data());
    EXPECT_EQ((*list)[0].shape[0], 2);
  }
}

} // namespace
