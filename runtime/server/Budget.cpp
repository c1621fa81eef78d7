//===- Budget.cpp - A limit on memory ---------------------------------------------------------===//

#include "runtime/server/Budget.h"

#include "runtime/server/Refusal.h"

#include <fmt/format.h>

using namespace updraft::server;

Budget::Reservation Budget::reserve(size_t bytes, const std::string &what) {
  const std::lock_guard guard(mutex);
  if (bytes > limit - reserved)
    throw Refusal(Reason::ResourceExhausted,
                  fmt::format("{} needs {} bytes; {} of the worker's {} bytes are free", what,
                              bytes, limit - reserved, limit));
  reserved += bytes;
  return {this, bytes};
}

size_t Budget::used() const {
  const std::lock_guard guard(mutex);
  return reserved;
}

void Budget::release(size_t bytes) {
  const std::lock_guard guard(mutex);
  reserved -= bytes;
}
