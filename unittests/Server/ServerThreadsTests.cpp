//===- ServerThreadsTests.cpp - Many clients at the same time ---------------------------------===//
// Without the compiler, so that `tools/test --long=threads` can check it with ThreadSanitizer.

#include "Requests.h"
#include "SimulatedDisk.h"
#include "Tensors.h"
#include "runtime/server/Server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace updraft::server;
using updraft::store::SimulatedDisk;
using updraft::store::SimulatedStorage;
using updraft::store::Store;

namespace {

constexpr int clients = 64;

/// The package of rules/sgd.upd.
std::string packagedSgd(const updraft::worker::v1::Rule &) {
  const char *given = std::getenv("UPDRAFT_SGD_PACKAGE");
  std::ifstream file(given ? given : UPDRAFT_SGD_PACKAGE, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// How many steps each client takes.
int stepCount() {
  const char *given = std::getenv("UPDRAFT_CLIENT_STEPS");
  return given ? std::atoi(given) : 50;
}

/// Each client steps an optimizer of its own, over a parameter of its own and one that all share.
/// Only every second step has a gradient of the client's own, so that each prepares another plan.
class Clients {
public:
  Clients(Server &server, int steps) : server(server), steps(steps) {
    server.put("shared", vectorOf({0, 0, 0}, server.budget()));
    for (int client = 0; client < clients; ++client)
      server.put("own" + std::to_string(client), vectorOf({0}, server.budget()));
  }

  void run() {
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; ++client)
      threads.emplace_back([this, client] { train(client); });
    std::atomic<bool> isOver = false;
    std::thread upkeep([&] {
      while (!isOver) {
        server.freeEnded();
        server.statistics();
        server.copies(server.parameters().all());
        if (server.statistics().journalBytes != 0)
          server.takeSnapshot();
        std::this_thread::yield();
      }
    });
    for (std::thread &thread : threads)
      thread.join();
    isOver = true;
    upkeep.join();
  }

  void check() {
    EXPECT_EQ(valuesAt("shared"), std::vector<float>(3, static_cast<float>(clients * steps)));
    for (int client = 0; client < clients; ++client)
      EXPECT_EQ(valuesAt("own" + std::to_string(client)),
                std::vector<float>{static_cast<float>(2 * (steps / 2))});
  }

private:
  std::vector<float> valuesAt(const std::string &name) {
    return valuesOf(server.copies(server.parameters().find({name}))[0].tensor);
  }
  Gradient gradientOf(size_t param, const std::vector<float> &values) {
    return {param, std::nullopt, vectorOf(values, server.budget())};
  }

  void train(int client) {
    const std::string name = "client" + std::to_string(client);
    server.registerClient(name);
    server.createOptimizer(
        requestOf(name, "sgd", {{{"shared", "own" + std::to_string(client)}, {{"lr", 1.0}}}}));
    uint64_t sequence = 0;
    for (int step = 1; step <= steps; ++step) {
      const auto context = static_cast<uint64_t>(step);
      server.openContext(name, context, name);
      std::vector<Gradient> gradients;
      gradients.push_back(gradientOf(0, {-1, -1, -1}));
      if (step % 2 == 0)
        gradients.push_back(gradientOf(1, {-2}));
      const auto stepped = static_cast<int64_t>(gradients.size());
      const RequestKey push{name, ++sequence}, key{name, ++sequence};
      server.push(name, context, push, std::move(gradients));
      EXPECT_EQ(server.step(name, context, key), stepped);
      if (step % 8 == 0)
        EXPECT_EQ(server.step(name, context, key), stepped); // repeated
      server.releaseContext(name, context, name);
    }
  }

  Server &server;
  const int steps;
};

/// Workers, called directly. A worker's address is its number.
class DirectPeers : public Peers {
public:
  DirectPeers(std::vector<std::unique_ptr<Server>> &servers, size_t self)
      : servers(servers), self(std::to_string(self)) {}

  bool isSelf(const std::string &worker) override { return worker == self; }
  int64_t prepare(const std::string &worker, const Transaction &transaction) override {
    return at(worker).prepare(transaction);
  }
  void decide(const std::string &worker, const Decision &decision) override {
    at(worker).decide(decision);
  }
  Outcome outcome(const std::string &worker, const RequestKey &request, uint64_t attempt) override {
    return at(worker).outcome(request, attempt);
  }

private:
  Server &at(const std::string &worker) { return *servers[std::stoul(worker)]; }

  std::vector<std::unique_ptr<Server>> &servers;
  const std::string self;
};

/// Clients take all-or-none steps of two or three workers. Each has an optimizer of its own, over a
/// parameter that all share and one of its own. Any worker coordinates, and many requests arrive
/// twice at the same time.
class Workers {
public:
  explicit Workers(int steps) : steps(steps) {
    for (size_t i = 0; i < workerCount; ++i) {
      start(i);
      servers[i]->put("shared", vectorOf({0, 0, 0}, servers[i]->budget()));
      for (int client = 0; client < clientCount; ++client)
        servers[i]->put("own" + std::to_string(client), vectorOf({0}, servers[i]->budget()));
    }
  }

  void run() {
    std::atomic<bool> isOver = false;
    std::thread upkeep([&] {
      for (size_t round = 0; !isOver; ++round) {
        resolve();
        if (round % 16 == 0)
          servers[round / 16 % workerCount]->takeSnapshot();
        std::this_thread::yield();
      }
    });
    std::vector<std::thread> threads;
    for (int client = 0; client < clientCount; ++client)
      threads.emplace_back([this, client] { train(client); });
    for (std::thread &thread : threads)
      thread.join();
    isOver = true;
    upkeep.join();
    resolve();
  }

  void restart() {
    std::mt19937_64 random(1);
    for (size_t i = 0; i < workerCount; ++i) {
      servers[i].reset();
      stores[i].reset();
      storages[i].restart(random, 0);
      start(i);
    }
  }

  void check() {
    for (size_t i = 0; i < workerCount; ++i) {
      Server &server = *servers[i];
      EXPECT_EQ(server.statistics().undecidedSteps, 0u);
      const auto valuesAt = [&](const std::string &name) {
        return valuesOf(server.copies(server.parameters().find({name}))[0].tensor);
      };
      int all = 0;
      for (int client = 0; client < clientCount; ++client) {
        const int count = expected[i][static_cast<size_t>(client)];
        all += count;
        EXPECT_EQ(valuesAt("own" + std::to_string(client)),
                  std::vector<float>{static_cast<float>(2 * count)})
            << "worker " << i << ", client " << client;
      }
      EXPECT_EQ(valuesAt("shared"), std::vector<float>(3, static_cast<float>(all)))
          << "worker " << i;
    }
  }

private:
  static constexpr size_t workerCount = 3;
  static constexpr int clientCount = 16;
  static constexpr std::chrono::seconds patience{5};

  void start(size_t worker) {
    Limits limits;
    limits.patience = patience;
    stores[worker] = std::make_unique<Store>(std::make_unique<SimulatedDisk>(storages[worker]), 1);
    servers[worker] = std::make_unique<Server>(limits, packagedSgd, std::chrono::steady_clock::now,
                                               Durability::Step, stores[worker].get());
  }

  void resolve() {
    for (size_t i = 0; i < workerCount; ++i) {
      DirectPeers peers(servers, i);
      servers[i]->resolve(peers);
    }
  }

  /// Repeats the request until it is answered.
  int64_t stepAll(uint64_t context, const RequestKey &request,
                  const std::vector<std::string> &workers) {
    const size_t first = std::stoul(workers.front());
    DirectPeers peers(servers, first);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!hasFailed)
      try {
        return servers[first]->stepAll(request.client, context, request, workers, peers);
      } catch (const Refusal &refusal) {
        if (refusal.reason() != Reason::Unavailable || std::chrono::steady_clock::now() > end) {
          ADD_FAILURE() << refusal.what();
          hasFailed = true;
        }
        std::this_thread::yield();
      }
    return 0;
  }

  void train(int client) {
    const std::string name = "client" + std::to_string(client);
    const std::string own = "own" + std::to_string(client);
    for (const auto &server : servers) {
      server->registerClient(name);
      server->createOptimizer(requestOf(name, "sgd", {{{"shared", own}, {{"lr", 1.0}}}}));
    }
    uint64_t sequence = 0;
    for (int step = 1; step <= steps && !hasFailed; ++step) {
      const auto context = static_cast<uint64_t>(step);
      const RequestKey push{name, ++sequence}, key{name, ++sequence};
      std::vector<std::string> workers;
      for (size_t i = 0; i < 2 + context % 2; ++i) {
        const size_t worker = (static_cast<size_t>(client) + context + i) % workerCount;
        workers.push_back(std::to_string(worker));
        Server &server = *servers[worker];
        server.openContext(name, context, name);
        std::vector<Gradient> gradients;
        gradients.push_back({0, std::nullopt, vectorOf({-1, -1, -1}, server.budget())});
        gradients.push_back({1, std::nullopt, vectorOf({-2}, server.budget())});
        server.push(name, context, push, std::move(gradients));
        ++expected[worker][static_cast<size_t>(client)];
      }
      const auto stepped = static_cast<int64_t>(2 * workers.size());
      std::thread twin;
      if (step % 8 == 0)
        twin = std::thread([&] { EXPECT_EQ(stepAll(context, key, workers), stepped); });
      else if (step % 4 == 0) // another worker coordinates it
        twin = std::thread([&] { stepAll(context, key, {workers.rbegin(), workers.rend()}); });
      const int64_t answer = stepAll(context, key, workers);
      if (step % 8 == 0 || step % 4 != 0)
        EXPECT_EQ(answer, stepped);
      if (twin.joinable())
        twin.join();
      for (const std::string &worker : workers)
        servers[std::stoul(worker)]->releaseContext(name, context, name);
    }
  }

  const int steps;
  std::atomic<bool> hasFailed = false;
  std::vector<SimulatedStorage> storages{workerCount};
  std::vector<std::unique_ptr<Store>> stores{workerCount};
  std::vector<std::unique_ptr<Server>> servers{workerCount};
  std::vector<std::vector<int>> expected{workerCount, std::vector<int>(clientCount)}; ///< steps
};

Limits manyRequests() {
  Limits limits;
  limits.patience = std::chrono::minutes(10);
  return limits;
}

} // namespace

TEST(ServerThreadsTest, NoStepIsLostOrDoubled) {
  Server server(manyRequests(), packagedSgd, std::chrono::steady_clock::now);
  Clients some(server, stepCount());
  some.run();
  some.check();
  EXPECT_EQ(server.statistics().contexts, 0u);
}

TEST(ServerThreadsTest, NoStepIsLostOrDoubledWithAStore) {
  SimulatedStorage storage;
  const int steps = std::min(stepCount(), 200);
  std::vector<std::string> states; // with the numbers of steps
  {
    Store store(std::make_unique<SimulatedDisk>(storage), 1);
    Server server(manyRequests(), packagedSgd, std::chrono::steady_clock::now, Durability::Step,
                  &store);
    Clients some(server, steps);
    some.run();
    some.check();
    for (int client = 0; client < clients; ++client)
      states.push_back(server.optimizer("client" + std::to_string(client))->saveStates());
  }
  std::mt19937_64 random(1);
  storage.restart(random, 0);
  Store store(std::make_unique<SimulatedDisk>(storage), 1);
  Server server(manyRequests(), packagedSgd, std::chrono::steady_clock::now, Durability::Step,
                &store);
  EXPECT_EQ(valuesOf(server.copies(server.parameters().find({"shared"}))[0].tensor),
            std::vector<float>(3, static_cast<float>(clients * steps)));
  for (int client = 0; client < clients; ++client)
    EXPECT_EQ(server.optimizer("client" + std::to_string(client))->saveStates(),
              states[static_cast<size_t>(client)]);
}

/// Every step is applied exactly once on each of its workers. If steps waited for each other, they
/// would fail after some seconds.
TEST(ServerThreadsTest, AllOrNoneStepsAreAppliedOnceOnEachWorker) {
  Workers some(std::min(stepCount(), 100));
  some.run();
  some.check();
  some.restart();
  some.check();
}
