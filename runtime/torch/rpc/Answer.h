//===- Answer.h - How an operator that was called remotely fails --------------------*- C++ -*-===//
// An error travels as text. Only that of std::runtime_error arrives as it is, without a backtrace;
// anything that is no std::exception is never answered.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_ANSWER_H
#define UPDRAFT_RUNTIME_TORCH_RPC_ANSWER_H

#include "runtime/base/Utf8.h"

#include <c10/util/Exception.h>

#include <stdexcept>
#include <string>

namespace updraft::torch_adapter {

/// What is Python's TimeoutError at the client.
class TimeoutError : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// Throws the text with the name of Python's type before it, which the client restores. torch drops
/// a text that isn't UTF-8, such as one that quotes a part of a character. In such a text `?`
/// replaces every byte that isn't ASCII.
[[noreturn]] inline void fail(const char *type, std::string text) {
  if (!runtime::isUtf8(text))
    for (char &c : text)
      if (static_cast<unsigned char>(c) >= 0x80)
        c = '?';
  throw std::runtime_error(std::string(type) + ": " + text);
}

/// Calls `body`; what it throws becomes text for the client.
template <typename Body> auto answering(const Body &body) -> decltype(body()) {
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
    fail("RuntimeError", "something that is no exception was thrown");
  }
}

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_ANSWER_H
