//===- ServerTransactions.cpp - Steps that all of several workers apply, or none --------------===//
// Two phases with presumed abort. A worker that is asked to prepare a step records it, syncs the
// record and holds the step's locks until it knows the decision. The coordinator is one of the
// workers. Its record of the decision is what counts: without one, the step is aborted.

#include "runtime/dist/Waiting.h"
#include "runtime/server/Refusal.h"
#include "runtime/server/Server.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <utility>

using namespace updraft::server;

/// Numbers that all take nine bytes in a record, so that its length is the same in each run of a
/// simulation.
static uint64_t newAttempt() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return random() >> 1 | uint64_t(1) << 62;
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
  std::shared_ptr<Prepared> entry;
  {
    const std::lock_guard guard(transactions);
    if (const auto found = prepared.find(request); found != prepared.end()) {
      if (found->second->isBusy)
        throw Refusal(Reason::Unavailable, "the same step is being prepared or decided; try again");
      if (found->second->transaction.attempt == transaction.attempt)
        return found->second->count();
      // Either attempt may be the later one, because messages may be late.
      throw Refusal(Reason::Unavailable,
                    "the same step is prepared by another attempt, which isn't decided; try again");
    }
    // With the mutex held: otherwise another attempt could be applied, and its answer acknowledged
    // and forgotten, between the look-ups and the new entry.
    if (const std::optional<int64_t> answer = table.answer(request))
      return *answer;
    table.requireRemembered(request);
    entry = std::make_shared<Prepared>();
    entry->transaction = transaction;
    prepared.emplace(request, entry);
  }
  try {
    prepare(*entry);
  } catch (...) {
    const std::lock_guard guard(transactions);
    prepared.erase(request);
    throw;
  }
  const std::lock_guard guard(transactions);
  entry->isBusy = false;
  return entry->count();
}

void Server::prepare(Prepared &entry) {
  const Transaction &transaction = entry.transaction;
  auto [optimizer, context] =
      target(transaction.optimizer, transaction.context, transaction.request.client);
  entry.optimizer = std::move(optimizer);
  entry.context = std::move(context);
  const std::shared_ptr<const SummedGradients> sum = entry.context->sum(memory);
  entry.gradients = &sum->byParam;
  entry.owner = sum;
  entry.step = entry.optimizer->prepare(*entry.gradients, patience, memory, transaction.staleness);
  if (table.isDecided(transaction.request)) // while this waited for locks
    throw Refusal(Reason::Unavailable, "the step has just been applied; try again");
  if (entry.step)
    entry.gradients = &entry.step->gradients();
  uint64_t record = 0;
  {
    const ChangeGate::Change change(recorder.gate);
    record = recorder.prepare(transaction, *entry.gradients);
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
  // Until the handler has ended: a snapshot before that would have the decision.
  std::optional<ChangeGate::Change> change(std::in_place, recorder.gate);
  try {
    if (!decision.unacknowledged.empty()) { // first, because nothing may fail after the record
      const std::lock_guard guard(transactions);
      decisions.insert_or_assign(request, decision);
    }
    record = recorder.decide(decision);
    entry.isDecided = true;
    table.decide(request, decision.stepped);
    if (entry.step)
      entry.step->apply();
    const std::lock_guard guard(transactions);
    entry.isRecorded = false; // for snapshots
  } catch (...) {
    if (entry.isDecided) // still busy, so that it isn't abandoned
      throw Refusal(Reason::OutcomeUnknown,
                    "the step is recorded, but the worker has no memory to apply it; start the "
                    "worker again");
    const std::lock_guard guard(transactions);
    decisions.erase(request);
    entry.isBusy = false; // still prepared
    throw;
  }
  change.reset();
  if (entry.context)
    entry.context->close();
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
  const Transaction &transaction = entry.transaction;
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
  Decision own = decision; // nothing may fail between taking the entry and deciding it
  own.unacknowledged.clear();
  const std::shared_ptr<Prepared> entry = takePrepared(decision.request);
  if (!entry && decision.isCommitted && !table.answer(decision.request) &&
      !table.isForgotten(decision.request))
    throw Refusal(Reason::FailedPrecondition,
                  fmt::format("request {} of client `{}` is neither prepared nor applied here, "
                              "although it is committed",
                              decision.request.sequence, decision.request.client));
  if (!entry)
    return;
  if (decision.isCommitted) {
    own.stepped = entry->count();
    commit(*entry, own);
  } else if (entry->transaction.attempt == decision.attempt) {
    abort(*entry);
  } else { // of an earlier attempt
    const std::lock_guard guard(transactions);
    entry->isBusy = false;
  }
}

Outcome Server::outcome(const RequestKey &request, uint64_t attempt) const {
  const std::lock_guard guard(transactions);
  const auto found = prepared.find(request);
  if (found != prepared.end()) // a decision may be made, but not on the disk
    return found->second->transaction.attempt == attempt || attempts.contains(attempt)
               ? Outcome::Undecided
               : Outcome::Unknown;
  if (table.answer(request) || decisions.contains(request))
    return Outcome::Committed;
  return attempts.contains(attempt) ? Outcome::Undecided : Outcome::Unknown;
}

//===----------------------------------------------------------------------------------------===//
// The coordinator's part
//===----------------------------------------------------------------------------------------===//

int64_t Server::stepAll(const std::string &optimizer, uint64_t context, const RequestKey &request,
                        const std::vector<std::string> &workers, Peers &peers,
                        const worker::v1::Staleness &staleness) {
  if (workers.empty() || std::set(workers.begin(), workers.end()).size() != workers.size())
    throw Refusal(Reason::InvalidArgument,
                  "a step of all workers names each of them once, and first the one that is asked");
  dist::aboutToWait();
  const ClientTable::Request carriedOut(table, request.client);
  return table.once(request, [&] {
    if (!peers.isSelf(workers.front()))
      throw Refusal(Reason::InvalidArgument,
                    fmt::format("`{}` is not the worker that was asked; it has to be the first",
                                workers.front()));
    Transaction transaction{optimizer, context, request, newAttempt(), workers, 0, staleness};
    {
      const std::lock_guard guard(transactions);
      attempts.insert(transaction.attempt);
    }
    Decision decision{request, transaction.attempt, true, 0, {}};
    const auto giveUp = [&] {
      {
        const std::lock_guard guard(transactions);
        attempts.erase(transaction.attempt);
      }
      decision.isCommitted = false;
      tell(decision, peers);
    };
    // In one order for all coordinators, so that no two steps wait for each other.
    std::vector<size_t> order(workers.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(),
              [&](size_t one, size_t other) { return workers[one] < workers[other]; });
    for (size_t position : order) {
      const std::string &worker = workers[position];
      transaction.self = position;
      try {
        if (position != 0)
          decision.unacknowledged.insert(worker); // it may prepare although its answer is lost
        decision.stepped +=
            position == 0 ? prepare(transaction) : peers.prepare(worker, transaction);
      } catch (const Refusal &refusal) {
        giveUp();
        throw Refusal(
            refusal.reason(),
            refusal.reason() == Reason::OutcomeUnknown
                ? fmt::format("worker `{}`: {}", worker, refusal.what())
                : fmt::format("no worker has applied the step, because worker `{}` has not "
                              "prepared it: {}",
                              worker, refusal.what()));
      } catch (...) { // without memory; the other workers would wait for this attempt
        giveUp();
        throw;
      }
    }
    std::shared_ptr<Prepared> own;
    try {
      own = takePrepared(request);
      if (!own)
        throw Refusal(Reason::Unavailable, "the step was decided by another request; try again");
      if (own->transaction.attempt != transaction.attempt) {
        const std::lock_guard guard(transactions);
        own->isBusy = false;
        throw Refusal(Reason::Unavailable, "the step is carried out by another request; try again");
      }
      commit(*own, decision);
    } catch (const Refusal &refusal) {
      // If the outcome is unknown, no worker must be told that the attempt has ended.
      if (refusal.reason() != Reason::OutcomeUnknown)
        giveUp();
      throw;
    } catch (const std::bad_alloc &) {
      if (!own || !own->isDecided)
        giveUp();
      throw;
    }
    {
      const std::lock_guard guard(transactions);
      attempts.erase(transaction.attempt);
    }
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
    } catch (const Refusal &) { // also of a worker with another store, because its own may return
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
      if (!prepared.contains(request)) // otherwise it may not be on the disk
        untold.push_back(decision);
    for (const auto &[request, entry] : prepared)
      if (!entry->isBusy && !attempts.contains(entry->transaction.attempt))
        inDoubt.push_back(entry->transaction);
  }
  for (Decision &decision : untold)
    tell(std::move(decision), peers);
  for (const Transaction &transaction : inDoubt) {
    Decision decision{transaction.request, transaction.attempt, false, 0, {}};
    // Without a decision of the coordinator, the step is aborted. But the coordinator may have lost
    // its store after it told another worker.
    bool isDecided = transaction.self == 0;
    for (size_t i = 0; i < transaction.workers.size() && !decision.isCommitted; ++i) {
      if (i == transaction.self)
        continue;
      try {
        const Outcome outcome =
            peers.outcome(transaction.workers[i], transaction.request, transaction.attempt);
        decision.isCommitted = outcome == Outcome::Committed;
        isDecided |= decision.isCommitted || (i == 0 && outcome == Outcome::Unknown);
        if (i == 0 && outcome == Outcome::Undecided)
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
