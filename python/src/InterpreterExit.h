//===- InterpreterExit.h - Threads that run while Python exits ----------------------*- C++ -*-===//
// When Python exits, a daemon thread that asks for the GIL never gets it. Python 3.14 lets the
// thread wait until the process is gone. Earlier versions call pthread_exit, which unwinds the
// stack like an exception that must not be caught, and nanobind's frames, which are noexcept, end
// the process for it. Here such a thread waits, in every version.
//
// A thread that has released the GIL may still run in the library. Python's exit waits for such
// threads before the process destroys the library's objects.

#ifndef UPDRAFT_PYTHON_INTERPRETEREXIT_H
#define UPDRAFT_PYTHON_INTERPRETEREXIT_H

#include <cxxabi.h>
#include <nanobind/nanobind.h>

namespace updraft::python {

/// Never returns. Call it without the GIL.
[[noreturn]] void waitForExit() noexcept;

/// Runs `body`, which may run Python code.
template <typename Body> decltype(auto) waitingAtExit(Body &&body) {
  try {
    return body();
  } catch (abi::__forced_unwind &) {
    waitForExit();
  }
}

/// Releases the GIL for its lifetime, like nanobind::gil_scoped_release. Python's exit waits until
/// the lifetime ends, so the code in it must not wait for Python.
class WithoutGIL {
public:
  WithoutGIL() noexcept;
  ~WithoutGIL();
  WithoutGIL(const WithoutGIL &) = delete;
  WithoutGIL &operator=(const WithoutGIL &) = delete;

private:
  PyThreadState *state;
};

/// Makes Python's exit wait for the threads that have released the GIL. Call it once, on import.
void awaitThreadsAtExit();

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_INTERPRETEREXIT_H
