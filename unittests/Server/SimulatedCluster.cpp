//===- SimulatedCluster.cpp - Servers and clients on an unreliable network --------------------===//

#include "SimulatedCluster.h"

#include "PackedRules.h"
#include "Requests.h"
#include "Tensors.h"
#include "runtime/server/Refusal.h"
#include "runtime/store/StoreError.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

using namespace updraft::server;
using updraft::store::PowerLoss;
using updraft::store::SimulatedDisk;
using updraft::store::Store;
using updraft::store::StoreError;

/// A worker's connections to the others.
class SimulatedCluster::Network : public Peers {
public:
  Network(SimulatedCluster &cluster, size_t self) : cluster(cluster), self(self) {}

  bool isSelf(const std::string &worker) override { return worker == std::to_string(self); }
  int64_t prepare(const std::string &worker, const Transaction &transaction) override {
    // Meanwhile another worker, but not the coordinator, asks for what it doesn't know.
    if (const size_t other = cluster.pick(workerCount);
        std::to_string(other) != transaction.workers.front() && cluster.chance(0.2))
      cluster.carryOut(other, [peers = cluster.networks[other].get()](Server &server) {
        server.resolve(*peers);
        return 0;
      });
    cluster.checkAll();
    return cluster.call(self, std::stoul(worker),
                        [transaction](Server &server) { return server.prepare(transaction); });
  }
  void decide(const std::string &worker, const Decision &decision) override {
    cluster.call(self, std::stoul(worker), [decision](Server &server) {
      server.decide(decision);
      return 0;
    });
  }
  Outcome outcome(const std::string &worker, const RequestKey &request, uint64_t attempt) override {
    return static_cast<Outcome>(
        cluster.call(self, std::stoul(worker), [request, attempt](Server &server) {
          return static_cast<int64_t>(server.outcome(request, attempt));
        }));
  }

private:
  SimulatedCluster &cluster;
  const size_t self;
};

SimulatedCluster::SimulatedCluster(uint64_t seed, const Disturbances &disturbances)
    : random(seed), disturbances(disturbances) {
  for (size_t i = 0; i < workerCount; ++i) {
    networks.push_back(std::make_unique<Network>(*this, i));
    start(i);
    workers[i].reference =
        std::make_unique<Server>(Limits(), packedOnce, std::chrono::steady_clock::now);
    for (Server *one : {workers[i].server.get(), workers[i].reference.get()}) {
      one->sync(one->put("w", vectorOf({1, 2, 3}, one->budget())));
      one->createOptimizer(requestOf("o", "adam", {{{"w"}, {}}}));
      one->registerClient("reference");
    }
  }
}

SimulatedCluster::~SimulatedCluster() = default;

std::unique_ptr<Server> SimulatedCluster::serverOf(Store &store) {
  Limits limits;
  limits.patience = {}; // one thread must not wait for itself
  return std::make_unique<Server>(
      limits, packedOnce, [this] { return now; }, Durability::Step, &store);
}

void SimulatedCluster::start(size_t worker) {
  Worker &started = workers[worker];
  started.checked = 0;
  started.store =
      std::make_unique<Store>(std::make_unique<SimulatedDisk>(started.storage), worker + 1);
  started.server = serverOf(*started.store);
}

void SimulatedCluster::losePower(size_t worker) {
  workers[worker].server.reset();
  workers[worker].store.reset();
  workers[worker].isDying = false;
}

std::optional<int64_t> SimulatedCluster::carryOut(size_t worker,
                                                  const std::function<int64_t(Server &)> &handle) {
  Worker &called = workers[worker];
  if (!called.server || called.isDying)
    return std::nullopt;
  // It ends when no call is under way: a worker may be called while it calls another.
  struct Call {
    SimulatedCluster &cluster;
    size_t worker;
    ~Call() {
      if (--cluster.workers[worker].calls == 0 && cluster.workers[worker].isDying)
        cluster.losePower(worker);
    }
  };
  ++called.calls;
  const Call call{*this, worker};
  try {
    return handle(*called.server);
  } catch (const PowerLoss &) {
    called.isDying = true;
    return std::nullopt;
  }
}

int64_t SimulatedCluster::call(size_t from, size_t worker,
                               const std::function<int64_t(Server &)> &handle) {
  const Refusal noAnswer(Reason::Unavailable, "no answer");
  if (cut.contains({from, worker})) {
    ++unreachable;
    throw noAnswer;
  }
  if (chance(disturbances.late))
    late.push_back({worker, handle, now});
  if (chance(disturbances.lost / 2))
    throw noAnswer;
  if (chance(disturbances.doubled))
    try {
      carryOut(worker, handle);
    } catch (const Refusal &) {
    }
  const std::optional<int64_t> result = carryOut(worker, handle);
  if (!result || chance(disturbances.lost / 2))
    throw noAnswer;
  return *result;
}

void SimulatedCluster::begin(Client &client) {
  if (client.name.empty())
    client.name = fmt::format("{}.{}", &client - clients.data(), ++client.names);
  Step step;
  step.request = {client.name, ++client.sequence};
  step.context = random();
  for (size_t i = 0; i < workerCount; ++i)
    step.workers.push_back(i);
  std::shuffle(step.workers.begin(), step.workers.end(), random);
  step.workers.resize(1 + pick(workerCount));
  for (int i = 0; i < 3; ++i)
    step.gradient.push_back(static_cast<float>(pick(100)) - 50);
  step.missing = step.workers.size();
  steps.emplace(step.request, step);
  unfinished.insert(step.request);
  client.pushed.clear();
  client.step = std::move(step);
}

/// Sends a client's next message.
void SimulatedCluster::advance(Client &client) {
  if (!client.step)
    begin(client);
  const Step step = *client.step;
  try {
    for (size_t worker : step.workers) {
      if (client.pushed.contains(worker))
        continue;
      if (!client.registered.contains(worker)) {
        call(nodeOf(client), worker, [step](Server &server) {
          server.registerClient(step.request.client);
          return 0;
        });
        client.registered.insert(worker);
        return; // other clients may do something between messages
      }
      call(nodeOf(client), worker, [step](Server &server) {
        server.clients().acknowledge(step.request.client, step.request.sequence);
        server.openContext("o", step.context, step.request.client);
        std::vector<Gradient> gradients;
        gradients.push_back({0, std::nullopt, vectorOf(step.gradient, server.budget())});
        server.push("o", step.context, step.request, std::move(gradients));
        return 0;
      });
      client.pushed.insert(worker);
      return;
    }
    const size_t first = step.workers.front();
    std::vector<std::string> names;
    for (size_t worker : step.workers)
      names.push_back(std::to_string(worker));
    call(nodeOf(client), first, [step, names, peers = networks[first].get()](Server &server) {
      return names.size() == 1 ? server.step("o", step.context, step.request)
                               : server.stepAll("o", step.context, step.request, names, *peers);
    });
    steps.at(step.request).isAnswered = true;
    ++answered;
    client.step.reset();
    for (size_t worker : step.workers)
      call(nodeOf(client), worker, [step](Server &server) {
        server.releaseContext("o", step.context, step.request.client);
        return 0;
      });
  } catch (const Refusal &refusal) {
    switch (refusal.reason()) {
    case Reason::ContextUnknown: // a worker was started again, and has lost the context
      client.pushed.clear();
      break;
    case Reason::ClientUnknown:  // a worker has forgotten the client
    case Reason::OutcomeUnknown: // the outcome is unknown
      client.step.reset();
      client.name.clear();
      client.registered.clear();
      break;
    default: // try again
      aborted += refusal.reason() == Reason::Unavailable;
    }
  }
}

void SimulatedCluster::deliverLate() {
  // An older message could register a client that was forgotten.
  while (!late.empty() && now - late.front().sent > ClientLimits().answerAge)
    late.pop_front();
  if (late.empty())
    return;
  const size_t which = pick(late.size());
  const LateMessage message = std::move(late[which]);
  late.erase(late.begin() + static_cast<std::ptrdiff_t>(which));
  try {
    carryOut(message.worker, message.handle);
  } catch (const Refusal &) {
  }
}

void SimulatedCluster::disturb() {
  const size_t which = pick(workerCount);
  Worker &worker = workers[which];
  if (!worker.server) {
    if (!chance(0.2))
      return;
    worker.storage.restart(random, std::vector<double>{0, 0.5, 0.9, 1}[pick(4)]);
    try {
      start(which);
      ++restarts;
    } catch (const PowerLoss &) {
      losePower(which);
    }
    return;
  }
  if (chance(disturbances.powerLoss))
    worker.storage.failsAt = worker.storage.operations + 1 + pick(20);
  if (chance(disturbances.fullDisk))
    worker.storage.capacity = worker.storage.capacity == SIZE_MAX ? pick(20'000) : SIZE_MAX;
  try {
    if (chance(disturbances.snapshot))
      carryOut(which, [](Server &server) {
        server.takeSnapshot();
        return 0;
      });
    if (chance(0.1))
      carryOut(which, [peers = networks[which].get()](Server &server) {
        server.resolve(*peers);
        return 0;
      });
  } catch (const Refusal &) { // the disk is full
  }
  if (chance(disturbances.timePasses)) {
    now += std::chrono::seconds(pick(100));
    for (size_t i = 0; i < workerCount; ++i)
      carryOut(i, [](Server &server) {
        server.freeEnded();
        return 0;
      });
  }
}

/// Cuts about half of the connections between workers, and between clients and workers.
void SimulatedCluster::disturbConnections() {
  if (events >= cutUntil)
    cut.clear();
  if (!chance(disturbances.partition))
    return;
  ++partitions;
  cut.clear();
  cutUntil = events + pick(200);
  for (size_t node = 0; node < workerCount + clientCount; ++node)
    for (size_t worker = 0; worker < std::min(node, workerCount); ++worker)
      if (chance(0.5))
        cut.insert({{node, worker}, {worker, node}});
}

void SimulatedCluster::event() {
  ++events;
  disturbConnections();
  disturb();
  checkAll();
  if (!late.empty() && chance(0.1))
    deliverLate();
  else
    advance(clients[pick(clientCount)]);
  checkAll();
}

void SimulatedCluster::checkAll() {
  for (size_t i = 0; i < workerCount; ++i)
    check(i);
}

void SimulatedCluster::violate(const std::string &text) {
  if (violation.empty())
    violation = text;
}

static std::string contentOf(Server &server) {
  const auto parameter = server.parameters().find({"w"})[0];
  return std::string(parameter->tensor.data(), parameter->tensor.bytes()) +
         std::to_string(parameter->version) + server.optimizer("o")->saveStates();
}

/// Steps that a worker has applied since the last check are applied to its reference. Then both
/// have the same bits.
void SimulatedCluster::check(size_t which) {
  Worker &worker = workers[which];
  if (!worker.server || worker.isDying)
    return;
  size_t added = 0;
  for (auto next = unfinished.begin(); next != unfinished.end();) {
    const RequestKey request = *next++;
    Step &step = steps.at(request);
    if (worker.known.contains(request) || !worker.server->clients().answer(request) ||
        std::find(step.workers.begin(), step.workers.end(), which) == step.workers.end())
      continue;
    std::vector<Gradient> gradients;
    Server &reference = *worker.reference;
    gradients.push_back({0, std::nullopt, vectorOf(step.gradient, reference.budget())});
    const RequestKey own{"reference", worker.known.size() + 1};
    reference.clients().acknowledge(own.client, own.sequence);
    reference.openContext("o", own.sequence, own.client);
    reference.push("o", own.sequence, own, std::move(gradients));
    reference.step("o", own.sequence, own);
    reference.releaseContext("o", own.sequence, own.client);
    worker.known.insert(request);
    if (--step.missing == 0)
      unfinished.erase(request);
    ++applied;
    if (++added > 1)
      violate(fmt::format("worker {} has applied two steps in one event", which));
  }
  const Parameter &parameter = *worker.server->parameters().find({"w"})[0];
  if (worker.checked == parameter.version) // nothing has changed
    return;
  worker.checked = parameter.version;
  if (std::string content = contentOf(*worker.server); content != worker.content)
    worker.before = std::exchange(worker.content, std::move(content));
  if (worker.content != contentOf(*worker.reference))
    violate(fmt::format("worker {} differs from a serial replay of {} steps", which,
                        worker.known.size()));
}

void SimulatedCluster::heal() {
  disturbances = {0, 0, 0, 0, 0, 0, 0, 0};
  late.clear();
  cut.clear();
  for (size_t i = 0; i < workerCount; ++i) {
    workers[i].storage.capacity = SIZE_MAX;
    workers[i].storage.failsAt = 0;
    if (workers[i].server)
      continue;
    workers[i].storage.restart(random, 0.5);
    start(i);
  }
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < workerCount; ++i) {
      workers[i].server->resolve(*networks[i]);
      checkAll();
    }
}

void SimulatedCluster::checkEnd() {
  for (const auto &[request, step] : steps) {
    const auto having = std::count_if(step.workers.begin(), step.workers.end(), [&](size_t worker) {
      return workers[worker].known.contains(request);
    });
    if (having != 0 && static_cast<size_t>(having) != step.workers.size())
      violate(fmt::format("step {} of client `{}` is on {} of {} workers", request.sequence,
                          request.client, having, step.workers.size()));
    if (step.isAnswered && having == 0)
      violate(fmt::format("step {} of client `{}` was answered and is lost", request.sequence,
                          request.client));
  }
}

std::string SimulatedCluster::files() const {
  std::string result;
  for (const Worker &worker : workers)
    for (const std::string &name : worker.storage.names()) {
      const std::string &content = worker.storage.content(name);
      result += fmt::format("{} {}:", name, content.size());
      if (name.find("journal") == std::string::npos)
        result += content;
    }
  return result;
}

std::string SimulatedCluster::values() {
  std::string result;
  for (const Worker &worker : workers)
    result += contentOf(*worker.server);
  return result;
}

std::string SimulatedCluster::rot(size_t times) {
  for (size_t time = 0; time < times && violation.empty(); ++time) {
    const size_t which = pick(workerCount);
    const Worker &worker = workers[which];
    updraft::store::SimulatedStorage copy;
    size_t bytes = 0;
    for (const std::string &name : worker.storage.names()) {
      SimulatedDisk(copy).open(name, SimulatedDisk::Opening::OrCreate);
      copy.setContent(name, worker.storage.content(name));
      bytes += copy.content(name).size();
    }
    size_t at = pick(bytes);
    for (const std::string &name : copy.names()) {
      std::string content = copy.content(name);
      if (at < content.size()) {
        content[at] = static_cast<char>(content[at] ^ 1 << pick(8));
        copy.setContent(name, content);
        break;
      }
      at -= content.size();
    }
    try {
      Store store(std::make_unique<SimulatedDisk>(copy), which + 1);
      const std::string content = contentOf(*serverOf(store));
      if (content != worker.content && content != worker.before)
        violate(fmt::format("worker {} has started with other bits", which));
    } catch (const StoreError &) {
      ++refused;
    }
  }
  return violation;
}

std::string SimulatedCluster::run(size_t wanted) {
  while (violation.empty() && answered < wanted)
    event();
  if (!violation.empty())
    return violation;
  heal();
  for (Client &client : clients)
    for (int i = 0; i < 20 && client.step; ++i) {
      advance(client);
      checkAll();
    }
  for (const Client &client : clients)
    if (client.step)
      violate(fmt::format("step {} of client `{}` doesn't end", client.step->request.sequence,
                          client.name));
  checkEnd();
  return violation;
}
