//===- ServerTransactions.cpp - Steps that all of several workers apply, or none --------------===//
// Two phases with presumed abort. A worker that is asked to prepare a step records it, syncs the
// record and holds the step's locks until it knows the decision. The coordinator is one of the
// workers. Its record of the decision is what counts: without one, the step is aborted.

#include "runtime/server/Refusal.h"
#include "runtime/server/Server.h"

#include <fmt/format.h>
#include <random>
#include <utility>

using namespace updraft::server;

static uint64_t newAttempt() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return random();
}

//===----------------------------------------------------------------------------------------===//
// A worker's part
//===----------------------------------------------------------------------------------------===//

int64_t Server::prepare(const Transaction &transaction) {
  if (!recorder.isDurable())
    throw Refusal(Reason::FailedPrecondition,
                  "a step of all workers or none needs workers that record each step; start them "
                  "with --store and --durability=step");
  const RequestKey &request = transaction.request;
  const ClientTable::Request carriedOut(table, request.client);
  if (const std::optional<int64_t> answer = table.answer(request))
    return *answer;
  std::shared_ptr<Prepared> entry;
  bool isNew = false;
  {
    const std::lock_guard guard(transactions);
    std::shared_ptr<Prepared> &place = prepared[request];
    isNew = !place;
    if (isNew)
      place = std::make_shared<Prepared>();
    else if (place->isBusy)
      throw Refusal(Reason::Unavailable, "the same step is being prepared or decided; try again");
    else if (place->transaction.attempt == transaction.attempt)
      return place->count();
    entry = place;
    entry->isBusy = true;
  }
  try {
    prepare(*entry, transaction);
  } catch (...) {
    const std::lock_guard guard(transactions);
    entry->isBusy = false;
    if (isNew)
      prepared.erase(request);
    throw;
  }
  const std::lock_guard guard(transactions);
  entry->isBusy = false;
  return entry->count();
}

void Server::prepare(Prepared &entry, const Transaction &transaction) {
  if (!entry.optimizer) {
    std::shared_ptr<GradientContext> context;
    {
      const std::lock_guard guard(mutex);
      const Entry &found = this->entry(transaction.optimizer);
      context = contextOf(found, transaction.optimizer, transaction.context);
      entry.optimizer = found.optimizer;
    }
    entry.gradients = &context->sum(memory);
    entry.owner = std::move(context);
    entry.step =
        entry.optimizer->prepare(*entry.gradients, patience, memory, transaction.staleness);
    if (entry.step)
      entry.gradients = &entry.step->gradients();
  }
  uint64_t record = 0;
  {
    const ChangeGate::Change change(recorder.gate);
    record = recorder.prepare(transaction, *entry.gradients);
    entry.transaction = transaction;
    entry.isRecorded = true;
  }
  recorder.sync(record);
}

/// Returns null if the request isn't prepared. Otherwise the step is busy until the caller has
/// decided it.
std::shared_ptr<Server::Prepared> Server::takePrepared(const RequestKey &request) {
  const std::lock_guard guard(transactions);
  const auto found = prepared.find(request);
  if (found == prepared.end())
    return nullptr;
  if (std::exchange(found->second->isBusy, true))
    throw Refusal(Reason::Unavailable, "the step is being prepared or decided; try again");
  return found->second;
}

void Server::commit(Prepared &entry, const Decision &decision) {
  const RequestKey &request = decision.request;
  uint64_t record = 0;
  try {
    const ChangeGate::Change change(recorder.gate);
    record = recorder.decide(decision);
    table.decide(request, decision.stepped);
    if (entry.step)
      entry.step->apply();
    const std::lock_guard guard(transactions);
    if (!decision.unacknowledged.empty())
      decisions.insert_or_assign(request, decision);
    entry.isRecorded = false; // for snapshots
  } catch (...) {
    const std::lock_guard guard(transactions);
    entry.isBusy = false; // still prepared
    throw;
  }
  steps += entry.step ? 1 : 0;
  try {
    recorder.sync(record);
  } catch (...) {
    table.settle(request, false);
    throw; // still busy, so that nobody is told anything
  }
  table.settle(request, true);
  const std::lock_guard guard(transactions);
  prepared.erase(request);
}

void Server::abort(Prepared &entry) {
  const Transaction transaction = entry.transaction;
  try {
    const ChangeGate::Change change(recorder.gate);
    recorder.decide({transaction.request, transaction.attempt, false, 0, {}});
    entry.isRecorded = false;
  } catch (...) { // without a record, later steps must not get the locks
    const std::lock_guard guard(transactions);
    entry.isBusy = false;
    throw;
  }
  const std::lock_guard guard(transactions);
  prepared.erase(transaction.request);
}

void Server::decide(const Decision &decision) {
  const std::shared_ptr<Prepared> entry = takePrepared(decision.request);
  if (!entry)
    return;
  if (decision.isCommitted) {
    Decision own = decision;
    own.stepped = entry->count();
    own.unacknowledged.clear();
    commit(*entry, own);
  } else if (entry->transaction.attempt == decision.attempt) {
    abort(*entry);
  } else { // of an earlier attempt
    const std::lock_guard guard(transactions);
    entry->isBusy = false;
  }
}

Outcome Server::outcome(const RequestKey &request, uint64_t attempt) const {
  const bool isKnown = table.answer(request).has_value();
  const std::lock_guard guard(transactions);
  if (isKnown || decisions.contains(request))
    return Outcome::Committed;
  if (attempts.contains(attempt) || prepared.contains(request))
    return Outcome::Undecided;
  return Outcome::Unknown;
}

//===----------------------------------------------------------------------------------------===//
// The coordinator's part
//===----------------------------------------------------------------------------------------===//

int64_t Server::stepAll(const std::string &optimizer, uint64_t context, const RequestKey &request,
                        const std::vector<std::string> &workers, Peers &peers,
                        const worker::v1::Staleness &staleness) {
  if (workers.empty())
    throw Refusal(Reason::InvalidArgument,
                  "a step of all workers names none; the first is the worker that is asked");
  const ClientTable::Request carriedOut(table, request.client);
  return table.once(request, [&] {
    Transaction transaction{optimizer, context, request, newAttempt(), workers, 0, staleness};
    {
      const std::lock_guard guard(transactions);
      attempts.insert(transaction.attempt);
    }
    Decision decision{request, transaction.attempt, true, 0, {}};
    const auto end = [&] {
      const std::lock_guard guard(transactions);
      attempts.erase(transaction.attempt);
    };
    for (; transaction.self < workers.size(); ++transaction.self) {
      const std::string &worker = workers[transaction.self];
      try {
        decision.stepped +=
            transaction.self == 0 ? prepare(transaction) : peers.prepare(worker, transaction);
      } catch (const Refusal &refusal) {
        decision.isCommitted = false;
        // This worker may have prepared, too, although its answer was lost.
        decision.unacknowledged.insert(workers.begin() + 1,
                                       workers.begin() +
                                           static_cast<std::ptrdiff_t>(transaction.self) + 1);
        end();
        tell(decision, peers);
        throw Refusal(refusal.reason(),
                      fmt::format("no worker has applied the step, because worker `{}` has not "
                                  "prepared it: {}",
                                  worker, refusal.what()));
      }
    }
    decision.unacknowledged.insert(workers.begin() + 1, workers.end());
    // If the outcome is unknown, other workers must not be told that the attempt has ended.
    commit(*takePrepared(request), decision);
    end();
    tell(decision, peers);
    return decision.stepped;
  });
}

/// Decides the step here, if it is prepared, and on the workers that have not acknowledged the
/// decision.
void Server::tell(Decision decision, Peers &peers) {
  if (!decision.isCommitted)
    try {
      decide(decision);
    } catch (const Refusal &) { // `resolve` does it
    }
  for (auto worker = decision.unacknowledged.begin(); worker != decision.unacknowledged.end();) {
    try {
      peers.decide(*worker, decision);
      worker = decision.unacknowledged.erase(worker);
    } catch (const Refusal &) {
      ++worker;
    }
  }
  if (!decision.isCommitted) // a worker that isn't told asks
    return;
  {
    const std::lock_guard guard(transactions);
    const auto found = decisions.find(decision.request);
    if (found == decisions.end())
      return;
    found->second.unacknowledged = decision.unacknowledged;
    if (!decision.unacknowledged.empty())
      return;
  }
  try {
    const ChangeGate::Change change(recorder.gate);
    recorder.acknowledge(decision.request);
    const std::lock_guard guard(transactions);
    decisions.erase(decision.request);
  } catch (const Refusal &) { // the workers are told again
  }
}

void Server::resolve(Peers &peers) {
  std::vector<Decision> untold;
  std::vector<Transaction> inDoubt;
  {
    const std::lock_guard guard(transactions);
    for (const auto &[request, decision] : decisions)
      untold.push_back(decision);
    for (const auto &[request, entry] : prepared)
      if (!entry->isBusy && !attempts.contains(entry->transaction.attempt))
        inDoubt.push_back(entry->transaction);
  }
  for (Decision &decision : untold)
    tell(std::move(decision), peers);
  for (const Transaction &transaction : inDoubt) {
    Decision decision{transaction.request, transaction.attempt, false, 0, {}};
    bool isDecided = transaction.self == 0; // without a decision of its own, it is aborted
    for (size_t i = 0; i < transaction.workers.size() && !isDecided; ++i) {
      if (i == transaction.self)
        continue;
      try {
        const Outcome outcome =
            peers.outcome(transaction.workers[i], transaction.request, transaction.attempt);
        decision.isCommitted = outcome == Outcome::Committed;
        // Another worker than the coordinator may just not have been asked to prepare.
        isDecided = decision.isCommitted || (i == 0 && outcome == Outcome::Unknown);
        if (i == 0 && !isDecided)
          break;                  // the coordinator is there, and will decide
      } catch (const Refusal &) { // ask the next
      }
    }
    if (!isDecided)
      continue;
    try {
      decide(decision);
    } catch (const Refusal &) { // the next time
    }
  }
}

/// Records what a snapshot doesn't contain, for the journal that continues it. Called when nothing
/// changes.
void Server::listTransactions() {
  const std::lock_guard guard(transactions);
  for (const auto &[request, entry] : prepared)
    if (entry->isRecorded)
      recorder.prepare(entry->transaction, *entry->gradients);
  for (const auto &[request, decision] : decisions)
    recorder.decide(decision);
}
