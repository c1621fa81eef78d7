//===- ServerTests.cpp - A parameter server, without its transport ----------------------------===//

#include "Tensors.h"
#include "runtime/server/Server.h"
#include "updraft-c/compiler.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

using namespace updraft::server;

namespace {

std::string textOfRule(const std::string &name) {
  std::ifstream file(UPDRAFT_RULES_DIR "/" + name + ".upd");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

RulePointer compiled(const RuleRequest &request) {
  upd_rule *rule = nullptr;
  if (upd_compile(request.source.data(), request.source.size(), nullptr, nullptr, &rule) != UPD_OK)
    throw Refusal(Reason::InvalidArgument, upd_last_error());
  return {rule, upd_rule_release};
}

class ServerTest : public testing::Test {
protected:
  ServerTest() {
    server.parameters().put("w", vectorOf({1, 2, 3}, server.budget()));
    server.parameters().put("v", vectorOf({5}, server.budget()));
    request.rule.source = textOfRule("sgd");
    request.groups = {{{"w"}, {{"lr", 0.5}}}, {{"v"}, {{"lr", 0.25}}}};
  }

  std::vector<Gradient> gradientOf(size_t param, const std::vector<float> &values) {
    std::vector<Gradient> result;
    result.push_back({param, std::nullopt, vectorOf(values, server.budget())});
    return result;
  }
  std::vector<float> valuesAt(const std::string &name) {
    return valuesOf(copiesOf(server.parameters().find({name}), server.budget())[0]);
  }

  Server server{{}, compiled, [] { return std::chrono::steady_clock::now(); }};
  OptimizerRequest request;
};

} // namespace

TEST_F(ServerTest, StepsOnceForEachRequest) {
  server.createOptimizer("o", request);
  server.openContext("o", 1);
  server.push("o", 1, {"a", 1}, gradientOf(0, {2, 2, 2}));
  EXPECT_EQ(server.step("o", 1, {"a", 2}), 1);
  EXPECT_EQ(server.step("o", 1, {"a", 2}), 1);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(valuesAt("v"), std::vector<float>{5});
  EXPECT_EQ(server.step("o", 1, {"a", 3}), 1);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{-1, 0, 1}));
  server.releaseContext("o", 1);
  EXPECT_EQ(server.step("o", 1, {"a", 3}), 1); // the answer is known
  EXPECT_EQ(refusalOf(Reason::NotFound, [&] { server.step("o", 1, {"a", 4}); }),
            "optimizer `o` has no open context 1; it was released, or never opened");
}

TEST_F(ServerTest, GroupsHaveTheirHyperparameters) {
  server.createOptimizer("o", request);
  server.openContext("o", 1);
  server.push("o", 1, {"a", 1}, gradientOf(0, {2, 2, 2}));
  server.push("o", 1, {"b", 1}, gradientOf(1, {4}));
  server.setHypers("o", 1, {{"lr", 1.0}});
  EXPECT_EQ(server.step("o", 1, {"a", 2}), 2);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(valuesAt("v"), std::vector<float>{1});
  EXPECT_EQ(refusalOf(Reason::NotFound, [&] { server.setHypers("o", 1, {{"beta", 1.0}}); })
                    .find("no hyperparameter `beta`") != std::string::npos,
            true);
}

TEST_F(ServerTest, ARefusedGradientChangesNothing) {
  server.createOptimizer("o", request);
  server.openContext("o", 1);
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
  server.createOptimizer("o", request);
  server.createOptimizer("o", request);
  request.groups[0].hypers[0].second = 0.1;
  EXPECT_EQ(refusalOf(Reason::AlreadyExists, [&] { server.createOptimizer("o", request); }),
            "there is another optimizer `o`; delete it first, or give this one another name");
  server.deleteOptimizer("o");
  server.deleteOptimizer("o");
  server.createOptimizer("o", request);
}

TEST_F(ServerTest, RefusesAParameterThatIsListedTwice) {
  request.groups = {{{"w", "w"}, {}}};
  EXPECT_EQ(refusalOf(Reason::InvalidArgument, [&] { server.createOptimizer("o", request); }),
            "parameter `w` is listed twice, and each step would be taken twice; list it once");
}

/// Clients with optimizers of their own share a parameter. Each sends every request twice.
TEST_F(ServerTest, ConcurrentStepsAreEachAppliedOnce) {
  constexpr int clients = 4, steps = 200;
  server.parameters().put("w", vectorOf({0, 0, 0}, server.budget()));
  request.groups = {{{"w"}, {{"lr", 1.0}}}};
  std::vector<std::thread> threads;
  for (int client = 0; client < clients; ++client)
    threads.emplace_back([&, client] {
      const std::string name = "o" + std::to_string(client);
      server.createOptimizer(name, request);
      uint64_t sequence = 0;
      for (uint64_t context = 1; context <= steps; ++context) {
        server.openContext(name, context);
        server.push(name, context, {name, ++sequence}, gradientOf(0, {-1, -1, -1}));
        const RequestKey key{name, ++sequence};
        std::thread again([&] { server.step(name, context, key); });
        server.step(name, context, key);
        again.join();
        server.releaseContext(name, context);
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
