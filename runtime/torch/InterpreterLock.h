//===- InterpreterLock.h - Python's lock, where there is a Python -------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_INTERPRETERLOCK_H
#define UPDRAFT_RUNTIME_TORCH_INTERPRETERLOCK_H

namespace updraft::torch_adapter {

/// Keeps Python from running while it lives: no thread of Python replaces a tensor's `.grad`, which
/// nothing else guards. The adapter is linked to no Python; in a process without one it does
/// nothing.
class InterpreterLock {
public:
  InterpreterLock();
  ~InterpreterLock();
  InterpreterLock(const InterpreterLock &) = delete;

private:
  int state;
};

/// Lets Python run while it lives. The thread holds the interpreter's lock, and has it again after.
/// A thread that Python's exit never gives it back waits there for the end of the process.
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
