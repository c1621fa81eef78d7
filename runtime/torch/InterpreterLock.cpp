//===- InterpreterLock.cpp - Python's lock, where there is a Python ---------------------------===//

#include "runtime/torch/InterpreterLock.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

using namespace updraft::torch_adapter;

namespace {
/// Functions of Python's stable ABI, which are the same in every version.
struct Functions {
  int (*isInitialized)() = find<int()>("Py_IsInitialized");
  int (*ensure)() = find<int()>("PyGILState_Ensure");
  void (*release)(int) = find<void(int)>("PyGILState_Release");
  void *(*save)() = find<void *()>("PyEval_SaveThread");
  void (*restore)(void *) = find<void(void *)>("PyEval_RestoreThread");

  static const Functions &get() {
    static const Functions found;
    return found;
  }
  bool usable() const {
    return isInitialized && ensure && release && save && restore && isInitialized();
  }

private:
  template <typename Function> static Function *find(const char *name) {
    return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
  }
};

constexpr int notTaken = -1;
} // namespace

InterpreterLock::InterpreterLock()
    : state(Functions::get().usable() ? Functions::get().ensure() : notTaken) {}

InterpreterLock::~InterpreterLock() {
  if (state != notTaken)
    Functions::get().release(state);
}

InterpreterPause::InterpreterPause()
    : state(Functions::get().usable() ? Functions::get().save() : nullptr) {}

InterpreterPause::~InterpreterPause() {
  if (!state)
    return;
  try {
    Functions::get().restore(state);
  } catch (abi::__forced_unwind &) {
    // Before Python 3.14 the thread would be unwound through functions that don't allow it.
    for (;;)
      pause();
  }
}
