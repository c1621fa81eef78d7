//===- ServerThreadsTests.cpp - Many clients at the same time ---------------------------------===//
// Without the compiler, so that `tools/test --long=threads` can check it with ThreadSanitizer.

#include "Requests.h"
#include "SimulatedDisk.h"
#include "Tensors.h"
#include "runtime/server/Server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

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
