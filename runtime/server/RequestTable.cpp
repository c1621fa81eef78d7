//===- RequestTable.cpp - The answers to requests that may be repeated ------------------------===//

#include "runtime/server/RequestTable.h"

#include "runtime/server/Refusal.h"

#include <fmt/format.h>

using namespace updraft::server;

/// Makes room for one more answer.
void RequestTable::forgetOld(Client &client) {
  while (client.answers.size() >= capacity) {
    const auto &[sequence, answer] = *client.answers.begin();
    if (!answer.isKnown || clock() - answer.time < age)
      throw Refusal(Reason::ResourceExhausted,
                    fmt::format("the client has sent {} requests in the last {} s, and their "
                                "answers must be kept; send fewer, or raise the limit",
                                client.answers.size(), age.count()));
    client.forgotten = sequence;
    client.answers.erase(client.answers.begin());
  }
}

int64_t RequestTable::once(const RequestKey &request, const std::function<int64_t()> &carryOut) {
  std::unique_lock lock(mutex);
  Client &client = clients[request.client]; // stays where it is
  for (;;) {
    const auto found = client.answers.find(request.sequence);
    if (found == client.answers.end())
      break;
    if (found->second.isKnown)
      return found->second.value;
    changed.wait(lock);
  }
  if (request.sequence <= client.forgotten)
    throw Refusal(Reason::Aborted,
                  fmt::format("the outcome of request {} of client `{}` is unknown: its answer "
                              "has been forgotten; it is not carried out again",
                              request.sequence, request.client));
  forgetOld(client);
  client.answers.try_emplace(request.sequence);
  lock.unlock();
  int64_t value = 0;
  try {
    value = carryOut();
  } catch (...) {
    lock.lock();
    client.answers.erase(request.sequence);
    changed.notify_all();
    throw;
  }
  lock.lock();
  client.answers[request.sequence] = {true, value, clock()};
  changed.notify_all();
  return value;
}

size_t RequestTable::size() const {
  const std::lock_guard guard(mutex);
  size_t result = 0;
  for (const auto &[name, client] : clients)
    result += client.answers.size();
  return result;
}
