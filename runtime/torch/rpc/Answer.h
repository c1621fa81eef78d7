//===- Answer.h - Errors of remotely called operators -------------------------------*- C++ -*-===//
// An error travels as text. Only a std::runtime_error arrives unchanged, without a backtrace. An
// exception that isn't derived from std::exception never gets an answer.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_ANSWER_H
#define UPDRAFT_RUNTIME_TORCH_RPC_ANSWER_H

#include "runtime/base/Utf8.h"
#include "runtime/timeline/Span.h"

#include <c10/util/Exception.h>

#include <stdexcept>
#include <string>

namespace updraft::torch_adapter {

/// Becomes Python's TimeoutError at the client.
class TimeoutError : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// Throws an error with the text, prefixed by the name of Python's type, which the client restores.
/// torch drops text that isn't UTF-8, such as text that quotes part of a character. In such text,
/// `?` replaces every byte that isn't ASCII.
[[noreturn]] inline void fail(const char *type, std::string text) {
  if (!runtime::isUtf8(text))
    for (char &c : text)
      if (static_cast<unsigned char>(c) >= 0x80)
        c = '?';
  throw std::runtime_error(std::string(type) + ": " + text);
}

/// Calls `body`, and converts its exceptions to text for the client. The timeline shows the call of
/// `function`.
template <typename Body>
auto answering(const char *function, const Body &body) -> decltype(body()) {
  const timeline::Span span("rpc", function);
  try {
    return body();
  } catch (const c10::ValueError &error) {
    fail("ValueError", error.what_without_backtrace());
  } catch (const c10::TypeError &error) {
    fail("TypeError", error.what_without_backtrace());
  } catch (const c10::IndexError &error) {
    fail("IndexError", error.what_without_backtrace());
  } catch (const c10::NotImplementedError &error) {
    fail("NotImplementedError", error.what_without_backtrace());
  } catch (const TimeoutError &error) {
    fail("TimeoutError", error.what());
  } catch (const c10::Error &error) {
    fail("RuntimeError", error.what_without_backtrace());
  } catch (const std::exception &error) {
    fail("RuntimeError", error.what());
  } catch (...) {
    fail("RuntimeError", "an object that is not a std::exception was thrown");
  }
}

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_ANSWER_H
