//===- NoMoreThreads.h - A process that can't start threads -------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_WORKER_NOMORETHREADS_H
#define UPDRAFT_UNITTESTS_WORKER_NOMORETHREADS_H

#include <pthread.h>

#include <cstddef>

namespace updraft {

/// While it exists, no thread with the default attributes starts. The default stack is larger than
/// the address space, so the system refuses the thread as it does at a limit on threads.
class NoMoreThreads {
public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before);
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_setstacksize(&attributes, size_t(1) << 46);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before);
    pthread_attr_destroy(&before);
  }
  NoMoreThreads(const NoMoreThreads &) = delete;
  NoMoreThreads &operator=(const NoMoreThreads &) = delete;

private:
  pthread_attr_t before{};
};

} // namespace updraft

#endif // UPDRAFT_UNITTESTS_WORKER_NOMORETHREADS_H
