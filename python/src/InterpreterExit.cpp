//===- InterpreterExit.cpp - Threads that run while Python exits ----------------------------===//

#include "InterpreterExit.h"

#include <atomic>
#include <pthread.h>
#include <unistd.h>

using namespace updraft::python;

/// The number of threads that run in the library without the GIL.
static std::atomic<int> running = 0;

void updraft::python::waitForExit() noexcept {
  for (;;)
    pause();
}

WithoutGIL::WithoutGIL() noexcept {
  ++running;
  state = PyEval_SaveThread();
}

WithoutGIL::~WithoutGIL() {
  if (--running == 0)
    running.notify_all();
  waitingAtExit([&] { PyEval_RestoreThread(state); });
}

/// Python calls this when no other thread can get the GIL, so the number only falls.
static void awaitThreads() {
  while (const int count = running)
    running.wait(count);
}

void updraft::python::awaitThreadsAtExit() {
  if (Py_AtExit(awaitThreads) != 0)
    throw nanobind::import_error("Python has no room for another function to call at exit");
  // A child process has only the thread that forked, which has the GIL.
  pthread_atfork(nullptr, nullptr, [] { running = 0; });
}
