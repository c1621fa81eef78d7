//===- updraft/Result.h - Errors as values ------------------------------------------*- C++ -*-===//
// The C++ API: headers over the C API (updraft-c/), in C++17, with or without exceptions and RTTI.
// They contain no compiled part: link libupdraft-runtime or libupdraft.
//
// Errors. A function that can fail returns a Result: a value or an Error. Test it, or call
// `value()`, which throws an Exception. If the program is compiled without exceptions, `value()`
// prints the error and aborts instead. The functions throw nothing else but what the C++ library
// throws if there is no memory.
//
// Handles. Package, Rule and Optimizer own an object of the C API and release it. They can be moved
// but not copied. A handle is empty after a move or default construction: functions that can fail
// return an error, and the others return empty values. Threads may share a Package or Rule. One
// thread at a time may use an Optimizer.
//
// Texts. A std::string_view that a handle returns is valid as long as the handle's object, and
// ends with a null character.

#ifndef UPDRAFT_RESULT_H
#define UPDRAFT_RESULT_H

#include "updraft-c/types.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace updraft {
inline namespace v1 {

/// The status of a failed call, never UPD_OK, and its message. updraft-c/types.h says when a retry
/// helps.
struct Error {
  upd_status code;
  std::string message;

  /// The error of the call that just failed on this thread.
  static Error last(upd_status code) { return {code, upd_last_error()}; }
};

/// An Error as an exception. `what()` is its message.
class Exception : public std::runtime_error {
public:
  explicit Exception(const Error &error) : std::runtime_error(error.message), status(error.code) {}
  upd_status code() const noexcept { return status; }

private:
  upd_status status;
};

namespace detail {
#ifdef __cpp_exceptions
[[noreturn]] inline void throwError(const Error &error) { throw Exception(error); }
#else
[[noreturn]] inline void abortWithError(const Error &error) {
  std::fprintf(stderr, "updraft: error: %s\n", error.message.c_str());
  std::abort();
}
#endif

// Inlined everywhere, because a program may have parts with and without exceptions.
[[noreturn, gnu::always_inline]] inline void raise(const Error &error) {
#ifdef __cpp_exceptions
  throwError(error);
#else
  abortWithError(error);
#endif
}

inline std::string_view viewOf(const char *text) { return text ? text : std::string_view(); }
} // namespace detail

/// A value, or the Error because of which there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : content(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return content.index() == 0; }

  /// The value. If there is none, throws an Exception or, without exceptions, aborts.
  [[gnu::always_inline]] T &value() & {
    if (content.index() != 0)
      detail::raise(error());
    return **this;
  }
  [[gnu::always_inline]] T &&value() && { return std::move(value()); }

  /// The value, which must exist.
  T &operator*() { return *std::get_if<0>(&content); }
  T *operator->() { return std::get_if<0>(&content); }
  const T &operator*() const { return *std::get_if<0>(&content); }
  const T *operator->() const { return std::get_if<0>(&content); }

  /// The error, which must exist.
  const Error &error() const { return *std::get_if<1>(&content); }

private:
  std::variant<T, Error> content;
};

/// Success or an Error.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failure(std::move(error)) {}
  /// The result of a call of the C API that just returned on this thread.
  explicit Result(upd_status status) {
    if (status != UPD_OK)
      failure = Error::last(status);
  }

  explicit operator bool() const { return !failure; }

  /// If this is an error, throws an Exception or, without exceptions, aborts.
  [[gnu::always_inline]] void value() const {
    if (failure)
      detail::raise(*failure);
  }

  /// The error, which must exist.
  const Error &error() const { return *failure; }

private:
  std::optional<Error> failure;
};

} // namespace v1
} // namespace updraft

#endif // UPDRAFT_RESULT_H
