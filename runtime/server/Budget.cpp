//===- Budget.cpp - A limit on memory ---------------------------------------------------------===//

#include "runtime/server/Budget.h"

#include "runtime/server/Refusal.h"

#include <fmt/format.h>

using namespace updraft::server;

void Budget::State::reserve(size_t bytes, const std::string &what) {
  {
    const std::lock_guard guard(mutex);
    if (bytes > limit - reserved)
      throw Refusal(Reason::ResourceExhausted,
                    fmt::format("{} needs {} bytes; {} of {}'s {} bytes are free", what, bytes,
                                limit - reserved, owner, limit));
    reserved += bytes;
  }
  try {
    if (whole)
      whole->reserve(bytes, what);
  } catch (...) {
    const std::lock_guard guard(mutex);
    reserved -= bytes;
    throw;
  }
}

void Budget::State::release(size_t bytes) {
  {
    const std::lock_guard guard(mutex);
    reserved -= bytes;
  }
  if (whole)
    whole->release(bytes);
}

size_t Budget::used() const {
  const std::lock_guard guard(state->mutex);
  return state->reserved;
}
