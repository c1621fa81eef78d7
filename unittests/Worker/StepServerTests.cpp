//===- StepServerTests.cpp - Steps of several clients at the same time ------------------------===//

#include "RunningWorker.h"
#include "SimulatedDisk.h"
#include "updraft/dist/Client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace updraft;
using server::textOfRule;
using std::chrono::steady_clock;
using worker::RunningWorker;

namespace {

/// A worker with the optimizers "slow" and "quick" of one parameter each. Their locks can be held.
class StepServerTest : public testing::Test {
protected:
  explicit StepServerTest(std::chrono::milliseconds timeout = std::chrono::seconds(60))
      : timeout(timeout) {
    const std::vector<float> zero = {0};
    first.put({{"s", zero}, {"q", zero}});
    slow.emplace(first.createOptimizer("slow", {textOfRule("sgd")}, {{{"s"}, {{"lr", 1.0}}}}));
    quick.emplace(first.createOptimizer("quick", {textOfRule("sgd")}, {{{"q"}, {{"lr", 1.0}}}}));
    worker.server.registerClient("holder");
  }

  dist::Client client() { return dist::Client({{worker.address()}, "", timeout}); }

  /// A context with the gradient -1.
  static dist::Context contextOf(dist::Optimizer &optimizer, const std::string &parameter) {
    dist::Context result = optimizer.openContext();
    const std::vector<float> gradient = {-1};
    result.push({{parameter, TensorView(gradient)}});
    return result;
  }
  float valueOf(const std::string &parameter) {
    std::vector<float> value(1);
    first.get({{parameter, value}});
    return value[0];
  }

  /// Steps of "slow" wait until `release`.
  void hold() {
    held = slow->openContext(5);
    const std::vector<float> gradient = {0};
    held->push({{"s", TensorView(gradient)}});
    worker.server.openContext("slow", 5, "holder");
    ASSERT_EQ(worker.server.prepare({"slow", 5, {"holder", 1}, 7, {"elsewhere", "here"}, 1}), 1);
  }
  void release() { worker.server.decide({{"holder", 1}, 7, false, 0, {}}); }

  const std::chrono::milliseconds timeout; ///< of clients' requests
  store::SimulatedStorage storage;
  store::Store store{std::make_unique<store::SimulatedDisk>(storage), 7};
  RunningWorker worker{7, &store};
  dist::Client first = client();
  std::optional<dist::Optimizer> slow, quick;
  std::optional<dist::Context> held;
};

/// Clients give up soon.
class EndingWorkerTest : public StepServerTest {
protected:
  EndingWorkerTest() : StepServerTest(std::chrono::seconds(1)) {}
};

} // namespace

TEST_F(StepServerTest, AStepThatWaitsDoesNotStopOthers) {
  dist::Context slowOnes = contextOf(*slow, "s"), quickOnes = contextOf(*quick, "q");
  for (int i = 0; i < 5; ++i) { // from now on the worker takes them for quick
    slowOnes.step();
    quickOnes.step();
  }
  hold();
  std::atomic<bool> hasStepped = false;
  std::thread waiting([&] {
    slowOnes.step();
    hasStepped = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100)); // the worker has nothing else to do
  const auto begin = steady_clock::now();
  quickOnes.step();
  EXPECT_LT(steady_clock::now() - begin, RunningWorker::limits().patience / 2);
  EXPECT_FALSE(hasStepped);
  release();
  waiting.join();
  EXPECT_EQ(valueOf("s"), 6);
}

TEST_F(StepServerTest, MoreStepsWaitThanThereAreThreads) {
  constexpr size_t count = worker::StepServer::mostSteps + 9, ofEach = count / 2;
  std::vector<dist::Client> clients;
  std::vector<dist::Optimizer> optimizers;
  std::vector<dist::Context> contexts;
  for (int i = 0; i < 2; ++i) { // a client may have 64 requests under way
    clients.push_back(client());
    optimizers.push_back(
        clients[i].createOptimizer("slow", {textOfRule("sgd")}, {{{"s"}, {{"lr", 1.0}}}}));
    for (size_t j = 0; j < ofEach; ++j)
      contexts.push_back(contextOf(optimizers[i], "s"));
  }
  hold();
  std::vector<std::thread> threads;
  for (dist::Context &context : contexts)
    threads.emplace_back([&context] { context.step(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(worker.server.statistics().steps, 0u);
  const auto begin = steady_clock::now();
  EXPECT_EQ(valueOf("q"), 0); // other calls are answered
  EXPECT_LT(steady_clock::now() - begin, RunningWorker::limits().patience / 2);
  release();
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(valueOf("s"), count);
}

TEST_F(EndingWorkerTest, AnswersOrAbandonsStepsUnderWay) {
  dist::Context slowOnes = contextOf(*slow, "s");
  slowOnes.step();
  hold();
  std::thread waiting([&] {
    try {
      slowOnes.step();
      ADD_FAILURE() << "the worker has ended";
    } catch (const dist::WorkersFailed &error) {
      EXPECT_NE(error.failures().front().code, grpc::StatusCode::CANCELLED); // it was repeated
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::thread releasing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    release();
  });
  worker.listening->shutDown(std::chrono::system_clock::now());
  EXPECT_EQ(worker.server.statistics().steps, 2u); // it was applied, without an answer
  releasing.join();
  waiting.join();
}

TEST_F(StepServerTest, ManyClientsStepAtTheSameTime) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      dist::Client own = client();
      const bool isSlow = i % 2 == 0;
      const std::string parameter = isSlow ? "s" : "q";
      dist::Optimizer optimizer = own.createOptimizer(
          isSlow ? "slow" : "quick", {textOfRule("sgd")}, {{{parameter}, {{"lr", 1.0}}}});
      dist::Context context = contextOf(optimizer, parameter);
      for (int step = 0; step < 100; ++step)
        context.step();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(valueOf("s"), 400);
  EXPECT_EQ(valueOf("q"), 400);
}
