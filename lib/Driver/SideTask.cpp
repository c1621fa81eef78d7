//===- SideTask.cpp - Work in another thread --------------------------------------------------===//
// Doesn't use std::thread, which ends the process if no thread can be created.

#include "SideTask.h"

#include "MemoryCheck.h"

#include <csignal>

using namespace updraft;

void *SideTask::run(void *argument) {
  static_cast<SideTask *>(argument)->work();
  return nullptr;
}

SideTask::SideTask(std::function<void()> someWork) : work(std::move(someWork)) {
  // A second thread's heap could take memory that the compilation's check counted on.
  if (!canAllocate(bytesForSecondThread))
    return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackBytes);
  // The process's signal handlers must run in its own threads.
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
