//===- ClientTable.cpp - Clients, their leases and the answers to their requests --------------===//

#include "runtime/server/ClientTable.h"

#include "runtime/dist/Waiting.h"
#include "runtime/server/Names.h"
#include "runtime/server/Refusal.h"

#include <algorithm>
#include <fmt/format.h>

using namespace updraft::server;

const std::shared_ptr<ClientTable::Client> &ClientTable::find(const std::string &name) const {
  const auto found = clients.find(name);
  if (found == clients.end())
    throw Refusal(Reason::ClientUnknown,
                  fmt::format("client `{}` is not registered: it is new, or the worker has "
                              "forgotten it; the outcome of its earlier requests is unknown; "
                              "register under a new name",
                              name));
  return found->second;
}

/// The client, which is added if it isn't registered.
ClientTable::Client &ClientTable::place(const std::string &name) {
  std::shared_ptr<Client> &client = clients[name];
  if (!client)
    client =
        std::make_shared<Client>(Budget(limits.bytes, fmt::format("client `{}`", name), &memory));
  client->seen = clock();
  return *client;
}

void ClientTable::add(const std::string &name, const std::function<void()> &record) {
  checkName(name, "the name of a client");
  const std::lock_guard guard(mutex);
  if (!clients.contains(name)) {
    if (clients.size() >= limits.clients)
      throw Refusal(Reason::ResourceExhausted,
                    fmt::format("the worker has {} clients, and takes no more; it forgets those "
                                "that have ended after {} s",
                                clients.size(), std::max(limits.lease, limits.answerAge).count()));
    record();
  }
  place(name);
}

bool ClientTable::renew(const std::string &name) {
  const std::lock_guard guard(mutex);
  const auto found = clients.find(name);
  if (found != clients.end())
    found->second->seen = clock();
  return found != clients.end();
}

ClientTable::Request::Request(ClientTable &table, const std::string &name)
    : table(table), client([&] {
        const std::lock_guard guard(table.mutex);
        const std::shared_ptr<Client> &found = table.find(name);
        if (found->requests >= table.limits.requests)
          throw Refusal(Reason::ResourceExhausted,
                        fmt::format("client `{}` has {} requests under way; wait for their answers",
                                    name, found->requests));
        ++found->requests; // from now on it isn't forgotten
        found->seen = table.clock();
        return found;
      }()) {}

ClientTable::Request::~Request() {
  const std::lock_guard guard(table.mutex);
  --client->requests;
  client->seen = table.clock();
}

Budget &ClientTable::Request::budget() const { return client->budget; }

bool ClientTable::isOld(const Answer &answer) const {
  return answer.progress == Progress::Known && clock() - answer.time >= limits.answerAge;
}

/// Whether the client may have one more answer. Restored ones don't count: they are as young as the
/// process, although most of them could have been forgotten before.
bool ClientTable::mayHaveMore(const Client &client) const {
  const size_t own = client.answers.size() - client.restored;
  if (own >= limits.answers || own < limits.allAnswers / clients.size())
    return own < limits.answers;
  size_t all = 0;
  for (const auto &[name, each] : clients)
    all += each->answers.size() - each->restored;
  return all < limits.allAnswers;
}

/// Makes room for one more answer.
void ClientTable::forgetOld(Client &client) {
  while (!mayHaveMore(client)) {
    const auto &[sequence, answer] = *client.answers.begin();
    if (!isOld(answer))
      throw Refusal(Reason::ResourceExhausted,
                    fmt::format("the client has sent {} requests in the last {} s, and their "
                                "answers must be kept; acknowledge them (RequestId.answered)",
                                client.answers.size() - client.restored, limits.answerAge.count()));
    client.forgotten = std::max(client.forgotten, sequence);
    forgetFirst(client);
  }
}

void ClientTable::forgetOldAnswers() {
  const std::lock_guard guard(mutex);
  for (const auto &[name, client] : clients)
    while (!client->answers.empty() && isOld(client->answers.begin()->second)) {
      client->forgotten = std::max(client->forgotten, client->answers.begin()->first);
      forgetFirst(*client);
    }
}

void ClientTable::forgetFirst(Client &client) {
  client.answers.erase(client.answers.begin());
  client.restored -= client.restored != 0 ? 1 : 0;
}

void ClientTable::acknowledge(const std::string &name, uint64_t sequence) {
  const std::lock_guard guard(mutex);
  const auto found = clients.find(name);
  if (found == clients.end() || sequence == 0)
    return;
  Client &client = *found->second;
  uint64_t last = sequence - 1;
  while (!client.answers.empty() && client.answers.begin()->first < sequence) {
    const auto &[first, answer] = *client.answers.begin();
    if (answer.progress != Progress::Known) { // under way, although the client has given it up
      last = first - 1;
      break;
    }
    forgetFirst(client);
  }
  client.forgotten = std::max(client.forgotten, last);
}

[[noreturn]] static void throwForgotten(const RequestKey &request) {
  throw Refusal(Reason::OutcomeUnknown,
                fmt::format("the outcome of request {} of client `{}` is unknown: its answer has "
                            "been forgotten; it is not carried out again",
                            request.sequence, request.client));
}

bool ClientTable::isForgotten(const RequestKey &request) const {
  const std::lock_guard guard(mutex);
  const auto client = clients.find(request.client);
  return client != clients.end() && request.sequence <= client->second->forgotten;
}

void ClientTable::requireRemembered(const RequestKey &request) const {
  if (isForgotten(request))
    throwForgotten(request);
}

/// Whether the exception that is handled says so.
static bool isOutcomeUnknown() {
  try {
    throw;
  } catch (const Refusal &refusal) {
    return refusal.reason() == Reason::OutcomeUnknown;
  } catch (...) {
    return true;
  }
}

int64_t ClientTable::once(const RequestKey &request, const std::function<int64_t()> &carryOut) {
  std::unique_lock lock(mutex);
  const std::shared_ptr<Client> client = find(request.client);
  for (;;) {
    const auto found = client->answers.find(request.sequence);
    if (found == client->answers.end())
      break;
    if (found->second.progress == Progress::Known)
      return found->second.value;
    if (found->second.progress == Progress::Unknown)
      throw Refusal(Reason::OutcomeUnknown,
                    fmt::format("the outcome of request {} of client `{}` is unknown, because it "
                                "could not be written to the disk; it is not carried out again",
                                request.sequence, request.client));
    dist::aboutToWait();
    changed.wait(lock);
  }
  if (request.sequence <= client->forgotten)
    throwForgotten(request);
  forgetOld(*client);
  client->answers.try_emplace(request.sequence);
  lock.unlock();
  int64_t value = 0;
  try {
    value = carryOut();
  } catch (...) {
    lock.lock();
    Answer &answer = client->answers[request.sequence];
    if (answer.progress == Progress::UnderWay)
      client->answers.erase(request.sequence);
    else if (answer.progress == Progress::Decided && isOutcomeUnknown())
      answer.progress = Progress::Unknown;
    changed.notify_all();
    throw;
  }
  lock.lock();
  client->answers[request.sequence] = {Progress::Known, value, clock()};
  changed.notify_all();
  return value;
}

void ClientTable::decide(const RequestKey &request, int64_t value) {
  const std::lock_guard guard(mutex);
  // A prepared step may outlive its client here.
  place(request.client).answers[request.sequence] = {Progress::Decided, value, clock()};
}

bool ClientTable::isDecided(const RequestKey &request) const {
  const std::lock_guard guard(mutex);
  const auto client = clients.find(request.client);
  if (client == clients.end())
    return false;
  const auto found = client->second->answers.find(request.sequence);
  return found != client->second->answers.end() && found->second.progress != Progress::UnderWay;
}

std::optional<int64_t> ClientTable::answer(const RequestKey &request) const {
  const std::lock_guard guard(mutex);
  const auto client = clients.find(request.client);
  if (client == clients.end())
    return std::nullopt;
  const auto found = client->second->answers.find(request.sequence);
  if (found == client->second->answers.end() || found->second.progress != Progress::Known)
    return std::nullopt;
  return found->second.value;
}

void ClientTable::settle(const RequestKey &request, bool isKnown) {
  const std::lock_guard guard(mutex);
  place(request.client).answers[request.sequence].progress =
      isKnown ? Progress::Known : Progress::Unknown;
  changed.notify_all();
}

bool ClientTable::hasEnded(const Client &client) const {
  return client.requests == 0 && clock() - client.seen >= limits.lease;
}

bool ClientTable::isForgettable(const Client &client) const {
  const auto now = clock();
  return hasEnded(client) && now - client.seen >= limits.answerAge &&
         std::all_of(client.answers.begin(), client.answers.end(), [&](const auto &answer) {
           return now - answer.second.time >= limits.answerAge;
         });
}

std::vector<std::string> ClientTable::ended() const {
  std::vector<std::string> result;
  const std::lock_guard guard(mutex);
  for (const auto &[name, client] : clients)
    if (hasEnded(*client))
      result.push_back(name);
  return result;
}

std::vector<std::string> ClientTable::forgettable() const {
  std::vector<std::string> result;
  const std::lock_guard guard(mutex);
  for (const auto &[name, client] : clients)
    if (isForgettable(*client))
      result.push_back(name);
  return result;
}

void ClientTable::forgetEnded(const std::vector<std::string> &names,
                              const std::function<void(const std::string &)> &record) {
  const std::lock_guard guard(mutex);
  for (const std::string &name : names)
    if (const auto client = clients.find(name);
        client != clients.end() && isForgettable(*client->second)) {
      record(name);
      clients.erase(client);
    }
}

void ClientTable::forget(const std::string &name) {
  const std::lock_guard guard(mutex);
  clients.erase(name);
}

size_t ClientTable::clientCount() const {
  const std::lock_guard guard(mutex);
  return clients.size();
}

size_t ClientTable::answerCount() const {
  const std::lock_guard guard(mutex);
  size_t result = 0;
  for (const auto &[name, client] : clients)
    result += client->answers.size();
  return result;
}

void ClientTable::list(store::Snapshot &snapshot) const {
  const std::lock_guard guard(mutex);
  for (const auto &[name, client] : clients) {
    snapshot.clients.push_back({name, client->forgotten});
    for (const auto &[sequence, answer] : client->answers)
      if (answer.progress != Progress::UnderWay)
        snapshot.answers.push_back({name, sequence, answer.value});
  }
}

void ClientTable::restore(const store::Snapshot &snapshot) {
  for (const store::StoredClient &client : snapshot.clients) {
    const std::lock_guard guard(mutex);
    place(client.name).forgotten = client.forgotten;
  }
  for (const store::StoredAnswer &answer : snapshot.answers)
    restore({answer.client, answer.sequence}, answer.value);
}

void ClientTable::restore(const std::string &name) {
  const std::lock_guard guard(mutex);
  place(name);
}

void ClientTable::restore(const RequestKey &request, int64_t value) {
  const std::lock_guard guard(mutex);
  Client &client = place(request.client);
  const Answer answer{Progress::Known, value, clock()};
  client.restored += client.answers.insert_or_assign(request.sequence, answer).second ? 1 : 0;
}
