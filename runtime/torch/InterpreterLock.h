//===- InterpreterLock.h - Python's lock, where there is a Python -------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_INTERPRETERLOCK_H
#define UPDRAFT_RUNTIME_TORCH_INTERPRETERLOCK_H

namespace updraft::torch_adapter {

/// Holds the GIL. Meanwhile no Python thread can replace a tensor's `.grad`, which no other lock
/// guards. The adapter doesn't link to Python: in a process without Python this class does nothing.
class InterpreterLock {
public:
  InterpreterLock();
  ~InterpreterLock();
  InterpreterLock(const InterpreterLock &) = delete;

private:
  int state;
};

/// Releases the GIL, which the thread must hold. The destructor acquires it again. If Python is
/// exiting and doesn't give it back, the thread blocks there until the process ends.
class InterpreterPause {
public:
  InterpreterPause();
  ~InterpreterPause();
  InterpreterPause(const InterpreterPause &) = delete;

private:
  void *state;
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_INTERPRETERLOCK_H
