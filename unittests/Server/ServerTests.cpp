//===- ServerTests.cpp - A parameter server, without its transport ----------------------------===//

#include "Requests.h"
#include "Tensors.h"
#include "runtime/server/Server.h"
#include "tools/updraft-worker/RuleSource.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

using namespace updraft::server;

namespace {

class ServerTest : public testing::Test {
protected:
  ServerTest() {
    server.put("w", vectorOf({1, 2, 3}, server.budget()));
    server.put("v", vectorOf({5}, server.budget()));
    server.registerClient("a");
    server.registerClient("b");
    request = requestOf("o", "sgd", {{{"w"}, {{"lr", 0.5}}}, {{"v"}, {{"lr", 0.25}}}});
  }

  std::vector<Gradient> gradientOf(size_t param, const std::vector<float> &values) {
    std::vector<Gradient> result;
    result.push_back({param, std::nullopt, vectorOf(values, server.budget())});
    return result;
  }
  /// Creates the optimizer, and pushes a gradient of "w" into the context 1 of the client "a".
  void createAndPush(const std::vector<float> &gradient) {
    server.createOptimizer(request);
    server.openContext("o", 1, "a");
    server.push("o", 1, {"a", 1}, gradientOf(0, gradient));
  }
  std::vector<float> valuesAt(const std::string &name) {
    return valuesOf(server.copies(server.parameters().find({name}))[0].tensor);
  }

  std::chrono::steady_clock::time_point now{};
  Server server{{}, updraft::worker::packSource, [this] { return now; }};
  updraft::worker::v1::CreateOptimizerRequest request;
};

} // namespace

TEST_F(ServerTest, StepsOnceForEachRequest) {
  createAndPush({2, 2, 2});
  EXPECT_EQ(server.step("o", 1, {"a", 2}), 1);
  EXPECT_EQ(server.step("o", 1, {"a", 2}), 1);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(valuesAt("v"), std::vector<float>{5});
  EXPECT_EQ(server.step("o", 1, {"a", 3}), 1);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{-1, 0, 1}));
  server.releaseContext("o", 1, "a");
  EXPECT_EQ(server.step("o", 1, {"a", 3}), 1); // the answer is known
  EXPECT_EQ(
      refusalOf(Reason::ContextUnknown, [&] { server.step("o", 1, {"a", 4}); }),
      "client `a` doesn't have context 1 of optimizer `o` open; it was released, or never opened");
}

TEST_F(ServerTest, GroupsHaveTheirHyperparameters) {
  server.createOptimizer(request);
  server.openContext("o", 1, "a");
  server.openContext("o", 1, "b");
  server.push("o", 1, {"a", 1}, gradientOf(0, {2, 2, 2}));
  server.push("o", 1, {"b", 1}, gradientOf(1, {4}));
  server.setHypers(hypersOf("o", 1, {{"lr", 1.0}}));
  EXPECT_EQ(server.step("o", 1, {"a", 2}), 2);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(valuesAt("v"), std::vector<float>{1});
  EXPECT_EQ(refusalOf(
                Reason::NotFound,
                [&] {
                  server.setHypers(hypersOf("o", 1, {{"beta", 1.0}}));
                }).find("no hyperparameter `beta`") != std::string::npos,
            true);
}

TEST_F(ServerTest, HasTheNewestProbes) {
  request.mutable_rule()->set_source("rule Watched(lr = 0.1) {\n"
                                     "  update(param, grad) {\n"
                                     "    probe largest = max(grad)\n"
                                     "    probe total = sum(new_param)\n"
                                     "    next param = param - lr * grad\n"
                                     "  }\n}\n");
  server.createOptimizer(request);
  auto texts = [&] {
    std::string text;
    for (const ProbeValue &probe : server.probes())
      text +=
          fmt::format("{} {} {} {}\n", probe.optimizer, probe.parameter, probe.probe, probe.value);
    return text;
  };
  EXPECT_EQ(texts(), "");
  server.openContext("o", 1, "a");
  server.push("o", 1, {"a", 1}, gradientOf(0, {2, 4, 0}));
  server.step("o", 1, {"a", 2});
  EXPECT_EQ(texts(), "o w largest 4\no w total 3\n");
  EXPECT_EQ(texts(), "o w largest 4\no w total 3\n");
  for (uint64_t number = 3; number < 203; number += 2) {
    server.openContext("o", number, "a");
    server.push("o", number, {"a", number}, gradientOf(1, {float(number)}));
    server.step("o", number, {"a", number + 1});
    server.releaseContext("o", number, "a");
  }
  EXPECT_EQ(texts().substr(0, 49), "o w largest 4\no w total 3\no v largest 201\no v tot");
  server.deleteOptimizer("o");
  EXPECT_EQ(texts(), "");
}

TEST_F(ServerTest, CountsElementsBelowEachBound) {
  request.mutable_rule()->set_source("rule Watched(lr = 0.1) {\n"
                                     "  update(param, grad) {\n"
                                     "    probe sizes = histogram(grad, [1, 3])\n"
                                     "    probe largest = max(grad)\n"
                                     "    next param = param - lr * grad\n"
                                     "  }\n}\n");
  server.createOptimizer(request);
  server.openContext("o", 1, "a");
  server.push("o", 1, {"a", 1}, gradientOf(0, {2, 4, 0}));
  server.step("o", 1, {"a", 2});
  const std::vector<ProbeValue> probes = server.probes();
  ASSERT_EQ(probes.size(), 4u);
  const double bounds[] = {1, 3, std::numeric_limits<double>::infinity()}, counts[] = {1, 2, 3};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(probes[i].probe, "sizes");
    EXPECT_EQ(probes[i].below, bounds[i]);
    EXPECT_EQ(probes[i].value, counts[i]);
  }
  EXPECT_EQ(probes[3].below, std::nullopt);
  EXPECT_EQ(probes[3].value, 4);
}

TEST_F(ServerTest, ARefusedGradientChangesNothing) {
  server.createOptimizer(request);
  server.openContext("o", 1, "a");
  std::vector<Gradient> gradients = gradientOf(1, {4});
  gradients.push_back(std::move(gradientOf(0, {1, 2})[0]));
  EXPECT_EQ(refusalOf(Reason::InvalidArgument,
                      [&] { server.push("o", 1, {"a", 1}, std::move(gradients)); }),
            "the gradient of `w` is f32 [2]; it must be f32 [3]");
  EXPECT_EQ(server.step("o", 1, {"a", 2}), 0);
  gradients = gradientOf(0, {1, 1});
  gradients[0].rows = {0, 3};
  EXPECT_EQ(refusalOf(Reason::InvalidArgument,
                      [&] { server.push("o", 1, {"a", 3}, std::move(gradients)); }),
            "the gradient of `w` has row 3; the parameter has 3 rows, from 0 on");
}

TEST_F(ServerTest, CreatingAnOptimizerCanBeRepeated) {
  server.createOptimizer(request);
  server.createOptimizer(request);
  (*request.mutable_groups(0)->mutable_hyperparameters())["lr"] = 0.1;
  EXPECT_EQ(refusalOf(Reason::AlreadyExists, [&] { server.createOptimizer(request); }),
            "there is another optimizer `o`; delete it first, or give this one another name");
  server.deleteOptimizer("o");
  server.deleteOptimizer("o");
  server.createOptimizer(request);
}

TEST_F(ServerTest, GradientsBelongToOneOptimizerOfAName) {
  server.createOptimizer(request);
  const auto deleted = server.optimizer("o");
  server.deleteOptimizer("o");
  server.createOptimizer(requestOf("o", "sgd", {{{"w"}, {}}}));
  server.openContext("o", 1, "a");
  EXPECT_EQ(refusalOf(Reason::ContextUnknown,
                      [&] { server.push("o", 1, {"a", 1}, gradientOf(1, {4}), deleted.get()); }),
            "the optimizer `o` was deleted, and another one has its name");
}

TEST_F(ServerTest, RefusesAParameterThatIsListedTwice) {
  request = requestOf("o", "sgd", {{{"w", "w"}, {}}});
  EXPECT_EQ(refusalOf(Reason::InvalidArgument, [&] { server.createOptimizer(request); }),
            "parameter `w` is listed twice, and each step would be taken twice; list it once");
}

/// Clients with optimizers of their own share a parameter. Each sends every request twice.
TEST_F(ServerTest, ConcurrentStepsAreEachAppliedOnce) {
  constexpr int clients = 4, steps = 200;
  server.put("w", vectorOf({0, 0, 0}, server.budget()));
  std::vector<std::thread> threads;
  for (int client = 0; client < clients; ++client)
    threads.emplace_back([&, client] {
      const std::string name = "o" + std::to_string(client);
      server.registerClient(name);
      server.createOptimizer(requestOf(name, "sgd", {{{"w"}, {{"lr", 1.0}}}}));
      uint64_t sequence = 0;
      for (uint64_t context = 1; context <= steps; ++context) {
        server.openContext(name, context, name);
        server.push(name, context, {name, ++sequence}, gradientOf(0, {-1, -1, -1}));
        const RequestKey key{name, ++sequence};
        std::thread again([&] { server.step(name, context, key); });
        server.step(name, context, key);
        again.join();
        server.releaseContext(name, context, name);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(valuesAt("w"), std::vector<float>(3, clients * steps));
  const Statistics statistics = server.statistics();
  EXPECT_EQ(statistics.steps, uint64_t(clients * steps));
  EXPECT_EQ(statistics.contexts, 0u);
  EXPECT_EQ(statistics.tensorBytes, 16u);
}

TEST_F(ServerTest, LimitsTheAgeOfGradients) {
  server.createOptimizer(request);
  server.openContext("o", 1, "a");
  std::vector<Gradient> gradients = gradientOf(0, {2, 4, 6});
  gradients.push_back(std::move(gradientOf(1, {4})[0]));
  server.push("o", 1, {"a", 1}, std::move(gradients));
  updraft::worker::v1::Staleness staleness;
  (*staleness.mutable_versions())["w"] = 1;
  staleness.set_most(1);
  EXPECT_EQ(server.step("o", 1, {"a", 2}, staleness), 2); // of age 0
  EXPECT_EQ(server.step("o", 1, {"a", 3}, staleness), 2); // of age 1
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{-1, -2, -3}));
  EXPECT_EQ(refusalOf(Reason::Stale, [&] { server.step("o", 1, {"a", 4}, staleness); }),
            "the gradient of `w` is of version 1, and the parameter has version 3; at most 1 "
            "versions may be between them");
  EXPECT_EQ(valuesAt("v"), std::vector<float>{3});
  server.put("w", vectorOf({0, 0, 0}, server.budget())); // now of age 3
  staleness.set_late(updraft::worker::v1::Staleness::SCALE);
  EXPECT_EQ(server.step("o", 1, {"a", 4}, staleness), 2);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{-0.5, -1, -1.5})); // half of the gradient
  EXPECT_EQ(valuesAt("v"), std::vector<float>{2});                // which is not limited
}

TEST_F(ServerTest, RefusesAVersionThatTheWorkerHasLost) {
  createAndPush({2, 4, 6});
  updraft::worker::v1::Staleness staleness;
  (*staleness.mutable_versions())["w"] = 7;
  EXPECT_EQ(refusalOf(Reason::Stale, [&] { server.step("o", 1, {"a", 2}, staleness); }),
            "the gradient of `w` is of version 7, and the parameter has version 1: the worker was "
            "started again, and has lost the later ones; get the parameters");
}

TEST_F(ServerTest, ARefusedStepLeavesItsContextOpen) {
  createAndPush({2, 2, 2});
  updraft::worker::v1::Staleness staleness;
  (*staleness.mutable_versions())["w"] = 7;
  EXPECT_THROW(server.step("o", 1, {"a", 2}, staleness), Refusal);
  server.push("o", 1, {"a", 3}, gradientOf(0, {2, 2, 2}));
  EXPECT_EQ(server.step("o", 1, {"a", 4}), 1);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{-1, 0, 1}));
  EXPECT_EQ(refusalOf(Reason::FailedPrecondition,
                      [&] { server.push("o", 1, {"a", 5}, gradientOf(0, {2, 2, 2})); }),
            "the context has been stepped, and takes no more gradients; open another");
}

TEST_F(ServerTest, AContextIsOpenForTheClientsThatOpenedIt) {
  server.createOptimizer(request);
  server.openContext("o", 1, "a");
  const char *lost =
      "client `b` doesn't have context 1 of optimizer `o` open; it was released, or never opened";
  EXPECT_EQ(refusalOf(Reason::ContextUnknown,
                      [&] { server.push("o", 1, {"b", 1}, gradientOf(0, {2, 2, 2})); }),
            lost);
  EXPECT_EQ(refusalOf(Reason::ContextUnknown, [&] { server.step("o", 1, {"b", 2}); }), lost);
}

TEST_F(ServerTest, ContextsEndWithTheLeasesOfTheirClients) {
  server.createOptimizer(request);
  for (uint64_t context = 1; context <= 100; ++context)
    server.openContext("o", context, "a");
  server.openContext("o", 1, "b");
  server.push("o", 2, {"a", 1}, gradientOf(0, {2, 2, 2}));
  const size_t used = server.statistics().tensorBytes;
  now += std::chrono::seconds(40);
  server.clients().renew("b");
  now += std::chrono::seconds(40);
  server.freeEnded();
  EXPECT_EQ(server.statistics().contexts, 1u);          // which `b` has opened, too
  EXPECT_THROW(server.step("o", 1, {"a", 2}), Refusal); // its gradients may be missing
  EXPECT_LT(server.statistics().tensorBytes, used - 100 * 500);
  now += std::chrono::seconds(40);
  server.freeEnded();
  EXPECT_EQ(server.statistics().contexts, 0u);
  EXPECT_EQ(server.statistics().tensorBytes, 16u);
  server.openContext("o", 1, "a"); // the worker still knows it
  now += std::chrono::seconds(1000);
  server.freeEnded();
  EXPECT_EQ(server.statistics().clients, 0u);
  EXPECT_EQ(server.statistics().contexts, 0u);
}
