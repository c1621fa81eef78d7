//===- InterpreterLock.cpp - Python's lock, where there is a Python ---------------------------===//

#include "runtime/torch/InterpreterLock.h"

#include <dlfcn.h>

using namespace updraft::torch_adapter;

namespace {
/// Of Python's stable interface, the same in every version.
struct Functions {
  int (*isInitialized)() = find<int()>("Py_IsInitialized");
  int (*ensure)() = find<int()>("PyGILState_Ensure");
  void (*release)(int) = find<void(int)>("PyGILState_Release");

  static const Functions &get() {
    static const Functions found;
    return found;
  }
  bool usable() const { return isInitialized && ensure && release && isInitialized(); }

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
