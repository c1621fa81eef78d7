//===- updraft/Span.h - A view of consecutive elements ------------------------------*- C++ -*-===//
// Like std::span of C++20, for programs in C++17.

#ifndef UPDRAFT_SPAN_H
#define UPDRAFT_SPAN_H

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>

namespace updraft {
inline namespace v1 {

/// A pointer and a number of elements. It owns nothing: the elements must outlive it.
template <typename T> class Span {
public:
  using value_type = std::remove_cv_t<T>;
  using iterator = T *;
  using const_iterator = const T *;

  Span() = default;
  Span(T *data, size_t size) : first(data), count(size) {}

  /// From a container with `data()` and `size()`, such as std::vector, std::array and std::span, or
  /// from an array.
  template <typename Range, typename Pointer = decltype(std::data(std::declval<Range &>())),
            typename = decltype(std::size(std::declval<Range &>())),
            typename = std::enable_if_t<
                std::is_convertible_v<std::remove_pointer_t<Pointer> (*)[], T (*)[]>>>
  Span(Range &&range) : first(std::data(range)), count(std::size(range)) {}

  /// From a list in braces, for an argument of a call.
  template <typename Element = T, typename = std::enable_if_t<std::is_const_v<Element>>>
  Span(std::initializer_list<std::remove_const_t<Element>> list)
      : first(std::data(list)), count(std::size(list)) {}

  T *data() const { return first; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  T *begin() const { return first; }
  T *end() const { return first + count; }
  T &operator[](size_t index) const { return first[index]; }

private:
  T *first = nullptr;
  size_t count = 0;
};

} // namespace v1
} // namespace updraft

#endif // UPDRAFT_SPAN_H
