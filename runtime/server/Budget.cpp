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

void Budget::State::shrinkPool() {
  size_t free = 0;
  {
    const std::lock_guard guard(mutex);
    free = limit - reserved;
  }
  pool.shrink(free);
}

Budget::Reservation Budget::reserve(size_t bytes, const std::string &what) {
  state->reserve(bytes, what);
  Reservation reservation(state, bytes);
  state->root().shrinkPool();
  return reservation;
}

Budget::Memory Budget::allocate(size_t bytes, const std::string &what) {
  state->reserve(bytes, what);
  Reservation reservation(state, bytes);
  State &root = state->root();
  runtime::StateArena arena = root.pool.take(bytes);
  root.shrinkPool(); // only now, since it may free what was taken
  if (!arena.data())
    arena = runtime::StateArena::allocate(bytes);
  return {std::move(reservation), std::move(arena)};
}

size_t Budget::used() const {
  const std::lock_guard guard(state->mutex);
  return state->reserved;
}
