//===- Server.cpp - A parameter server, without its transport ---------------------------------===//

#include "runtime/server/Server.h"

#include "runtime/dist/Waiting.h"
#include "runtime/server/Names.h"
#include "runtime/server/Refusal.h"
#include "runtime/store/StoreError.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>
#include <utility>

using namespace updraft::server;
using google::protobuf::util::MessageDifferencer;

Server::Server(const Limits &limits, RuleMaker makeRule, Clock clock, Durability durability,
               store::Store *store)
    : memory(limits.tensorBytes), makeRule(std::move(makeRule)),
      table(limits.clients, memory, std::move(clock)), store(store), patience(limits.patience) {
  if (!store)
    return;
  restore();
  if (durability == Durability::Step)
    recorder.begin(store->journal());
  else if (!prepared.empty() || !decisions.empty()) // a snapshot doesn't have them
    throw store::StoreError(store::StoreError::Kind::Failed,
                            "the store has steps of several workers that not all of them have "
                            "decided; start it with --durability=step until they have");
  else if (store->journal().bytes() != 0)
    takeSnapshot(); // of a journal that isn't continued
}

const Server::Entry &Server::entry(const std::string &name) const {
  const auto found = optimizers.find(name);
  if (found == optimizers.end())
    throw Refusal(Reason::NotFound, fmt::format("the worker has no optimizer `{}`", name));
  return found->second;
}

Server::Entry &Server::entry(const std::string &name) {
  return const_cast<Entry &>(std::as_const(*this).entry(name));
}

Server::Target Server::target(const std::string &optimizer, uint64_t context,
                              const std::string &client) const {
  const std::lock_guard guard(mutex);
  const Entry &found = entry(optimizer);
  const auto open = found.contexts.find(context);
  if (open == found.contexts.end() || !open->second.clients.contains(client))
    throw Refusal(Reason::ContextUnknown,
                  fmt::format("client `{}` doesn't have context {} of optimizer `{}` open; it was "
                              "released, or never opened",
                              client, context, optimizer));
  return {found.optimizer, open->second.context};
}

uint64_t Server::put(const std::string &name, Tensor tensor) {
  return params.put(name, std::move(tensor), recorder, patience);
}

std::vector<ParameterCopy> Server::copies(const Parameters &some) {
  std::vector<ParameterCopy> result = copiesOf(some, memory, patience);
  recorder.syncAll(); // so that no value is seen that could be lost
  return result;
}

bool Server::isCreated(const worker::v1::CreateOptimizerRequest &request) const {
  const auto found = optimizers.find(request.optimizer());
  if (found == optimizers.end())
    return false;
  if (!MessageDifferencer::Equals(found->second.optimizer->request(), request))
    throw Refusal(Reason::AlreadyExists,
                  fmt::format("there is another optimizer `{}`; delete it first, or give this "
                              "one another name",
                              request.optimizer()));
  return true;
}

bool Server::hasOptimizer(const worker::v1::CreateOptimizerRequest &request) const {
  const std::lock_guard guard(mutex);
  return isCreated(request);
}

void Server::createOptimizer(const worker::v1::CreateOptimizerRequest &request) {
  const std::string &name = request.optimizer();
  checkName(name, "the name of an optimizer");
  if (hasOptimizer(request))
    return;
  std::string package = makeRule(request.rule());
  RulePointer rule = loadRule(package);
  auto made =
      std::make_shared<ServedOptimizer>(request, std::move(package), std::move(rule), params);
  uint64_t record = 0;
  {
    const ChangeGate::Change change(recorder.gate);
    const std::lock_guard guard(mutex);
    if (!isCreated(request)) {
      record = recorder.create(request, made->package());
      optimizers.emplace(name, Entry{std::move(made), {}});
    }
  }
  recorder.sync(record);
}

void Server::deleteOptimizer(const std::string &name) {
  std::shared_ptr<ServedOptimizer> optimizer;
  {
    const std::lock_guard guard(mutex);
    if (const auto found = optimizers.find(name); found != optimizers.end())
      optimizer = found->second.optimizer;
  }
  if (!optimizer) {
    recorder.syncAll(); // an earlier request to delete it may not have been answered
    return;
  }
  const uint64_t record = optimizer->close(recorder, patience);
  Entry last; // freed after the mutex is unlocked
  {
    const std::lock_guard guard(mutex);
    const auto found = optimizers.find(name);
    last = std::move(found->second); // others may not remove it, since it is closed
    optimizers.erase(found);
  }
  recorder.sync(record);
}

void Server::setHypers(const worker::v1::SetHyperparametersRequest &request) {
  const std::shared_ptr<ServedOptimizer> optimizer = served(request.optimizer());
  recorder.sync(optimizer->setHypers(request, recorder, patience));
}

std::vector<std::map<std::string, double>> Server::hypers(const std::string &name) {
  const std::shared_ptr<ServedOptimizer> optimizer = served(name);
  std::vector<std::map<std::string, double>> result = optimizer->hypers(patience);
  recorder.syncAll(); // so that nothing is seen that could be lost
  return result;
}

StatesFile Server::states(const std::string &name) {
  const std::shared_ptr<ServedOptimizer> optimizer = served(name);
  StatesFile file = optimizer->states(patience, memory);
  recorder.syncAll(); // so that nothing is seen that could be lost
  return file;
}

void Server::setStates(const std::string &name, const std::string &bytes) {
  const std::shared_ptr<ServedOptimizer> optimizer = served(name);
  recorder.sync(optimizer->setStates(bytes, recorder, patience));
}

std::shared_ptr<ServedOptimizer> Server::served(const std::string &name) const {
  const std::lock_guard guard(mutex);
  return entry(name).optimizer;
}

std::shared_ptr<const ServedOptimizer> Server::optimizer(const std::string &name) const {
  return served(name);
}

/// Counted for each client of a context, so that a client can't open any number of contexts.
static constexpr size_t contextBytes = 512;

void Server::openContext(const std::string &name, uint64_t context, const std::string &client) {
  const ClientTable::Request carriedOut(table, client);
  Budget::Reservation reservation = carriedOut.budget().reserve(contextBytes, "a context");
  const std::lock_guard guard(mutex);
  OpenContext &place = entry(name).contexts[context];
  if (!place.context)
    place.context = std::make_shared<GradientContext>();
  place.clients.try_emplace(client, std::move(reservation));
}

void Server::releaseContext(const std::string &name, uint64_t context, const std::string &client) {
  OpenContext last; // freed after the mutex is unlocked
  const std::lock_guard guard(mutex);
  auto &contexts = entry(name).contexts;
  const auto found = contexts.find(context);
  if (found == contexts.end())
    return;
  found->second.clients.erase(client);
  if (!found->second.clients.empty())
    return;
  last = std::move(found->second);
  contexts.erase(found);
}

void Server::registerClient(const std::string &name) {
  {
    const ChangeGate::Change change(recorder.gate);
    table.add(name, [&] { recorder.addClient(name); });
  }
  recorder.syncAll(); // the record may be of an earlier request, which wasn't answered
}

/// How long freed memory is kept for other tensors: longer than most steps take.
static constexpr std::chrono::seconds keptFor{60};

void Server::freeEnded() {
  std::vector<OpenContext> freed; // after the mutex is unlocked
  if (const std::vector<std::string> names = table.ended(); !names.empty()) {
    const std::set<std::string> ended(names.begin(), names.end());
    const std::lock_guard guard(mutex);
    for (auto &[name, entry] : optimizers)
      for (auto context = entry.contexts.begin(); context != entry.contexts.end();) {
        OpenContext &open = context->second;
        std::erase_if(open.clients,
                      [&](const auto &client) { return ended.contains(client.first); });
        if (!open.clients.empty()) {
          ++context;
          continue;
        }
        freed.push_back(std::move(open));
        context = entry.contexts.erase(context);
      }
  }
  memory.freeUnused(keptFor);
  table.forgetOldAnswers();
  std::vector<std::string> forgotten = table.forgettable();
  {
    // Their steps still have to be decided.
    const std::lock_guard guard(transactions);
    std::erase_if(forgotten, [&](const std::string &name) {
      const auto isOf = [&](const auto &entry) { return entry.first.client == name; };
      return std::any_of(prepared.begin(), prepared.end(), isOf) ||
             std::any_of(decisions.begin(), decisions.end(), isOf);
    });
  }
  if (forgotten.empty())
    return; // without a change that a snapshot would have to have
  const ChangeGate::Change change(recorder.gate);
  try {
    table.forgetEnded(forgotten, [&](const std::string &name) { recorder.forgetClient(name); });
  } catch (const Refusal &) { // the disk is full or has failed; the clients stay known
  }
}

void Server::push(const std::string &name, uint64_t context, const RequestKey &request,
                  std::vector<Gradient> gradients, const ServedOptimizer *of) {
  const auto [optimizer, given] = target(name, context, request.client);
  if (of && of != optimizer.get())
    throw Refusal(
        Reason::ContextUnknown,
        fmt::format("the optimizer `{}` was deleted, and another one has its name", name));
  for (const Gradient &gradient : gradients)
    optimizer->check(gradient);
  given->add(request, std::move(gradients));
}

int64_t Server::step(const std::string &name, uint64_t context, const RequestKey &request,
                     const worker::v1::Staleness &staleness) {
  const ClientTable::Request carriedOut(table, request.client);
  return table.once(request, [&] {
    const auto [optimizer, given] = target(name, context, request.client);
    const auto begin = std::chrono::steady_clock::now();
    if (recorder.isDurable() || !optimizer->isQuick(given->bytes()))
      dist::aboutToWait();
    {
      const auto guard = dist::lockPatiently(transactions);
      if (prepared.contains(request))
        throw Refusal(Reason::Unavailable,
                      "the step is prepared as one of several workers, and not decided; try again");
    }
    const std::shared_ptr<const SummedGradients> sum = given->sum(memory);
    const auto stepped = static_cast<int64_t>(sum->byParam.size());
    const std::unique_ptr<ServedStep> step =
        optimizer->prepare(sum->byParam, patience, memory, staleness);
    if (table.isDecided(request)) // while this waited for locks
      throw Refusal(Reason::Unavailable, "the step has just been applied; try again");
    uint64_t record = 0;
    {
      const ChangeGate::Change change(recorder.gate);
      record = recorder.step(name, request, step ? step->gradients() : sum->byParam);
      table.decide(request, stepped);
      if (step)
        step->apply();
    }
    given->close();
    steps += step ? 1 : 0;
    recorder.sync(record);
    if (step)
      optimizer->took(std::chrono::steady_clock::now() - begin);
    return stepped;
  });
}

std::vector<ProbeValue> Server::probes() const {
  std::vector<std::shared_ptr<ServedOptimizer>> served;
  {
    const std::lock_guard guard(mutex);
    for (const auto &[name, entry] : optimizers)
      served.push_back(entry.optimizer);
  }
  std::vector<ProbeValue> result;
  for (const auto &optimizer : served)
    optimizer->addProbes(result);
  return result;
}

Statistics Server::statistics() const {
  Statistics result;
  result.parameters = params.all().size();
  result.clients = table.clientCount();
  result.rememberedAnswers = table.answerCount();
  result.tensorBytes = memory.used();
  result.steps = steps;
  result.journalBytes = journalBytes();
  {
    const std::lock_guard guard(transactions);
    result.undecidedSteps = prepared.size();
  }
  const std::lock_guard guard(mutex);
  result.optimizers = optimizers.size();
  for (const auto &[name, entry] : optimizers)
    result.contexts += entry.contexts.size();
  return result;
}
