//===- SideTask.cpp - Work in another thread --------------------------------------------------===//
// Not std::thread, which ends the process where no thread can be had.

#include "SideTask.h"

#include "MemoryCheck.h"

#include <csignal>

using namespace updraft;

void *SideTask::run(void *argument) {
  static_cast<SideTask *>(argument)->work();
  return nullptr;
}

SideTask::SideTask(std::function<void()> someWork) : work(std::move(someWork)) {
  // The heap of a second thread could take the memory that the check for the compilation found.
  if (!canAllocate(bytesForSecondThread))
    return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackBytes);
  // The handlers of the process are to run in its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  isStarted = pthread_create(&thread, &attributes, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

void SideTask::join() {
  if (!work)
    return;
  if (isStarted)
    pthread_join(thread, nullptr);
  else
    work();
  work = nullptr;
}
