//===- Waiting.cpp - Handing on a duty before waiting -----------------------------------------===//

#include "runtime/dist/Waiting.h"

#include <cassert>
#include <utility>

using namespace updraft;

static thread_local dist::Duty *ofThread = nullptr;

dist::Duty::Duty(std::function<void()> handOn) : handOn(std::move(handOn)) {
  assert(!ofThread);
  ofThread = this;
}

dist::Duty::~Duty() { ofThread = nullptr; }

void dist::aboutToWait() {
  if (ofThread && ofThread->handOn)
    std::exchange(ofThread->handOn, nullptr)();
}
