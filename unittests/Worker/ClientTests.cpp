//===- ClientTests.cpp - The client of parameter servers --------------------------------------===//

#include "RunningWorker.h"
#include "SimulatedDisk.h"
#include "updraft/dist/Client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace updraft;
using dist::Client;
using server::textOfRule;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using worker::RunningWorker;

namespace {

using Values = std::vector<float>;

class ClientTest : public testing::Test {
protected:
  Client makeClient(const std::string &name = "", int milliseconds = 60'000) {
    return Client(
        {{one.address(), other.address()}, name, std::chrono::milliseconds(milliseconds)});
  }

  static void put(Client &client, const std::map<std::string, Values> &parameters) {
    std::map<std::string, TensorView> views;
    for (const auto &[name, values] : parameters)
      views.emplace(name, values);
    client.put(views);
  }
  static Values get(Client &client, const std::string &name, size_t count) {
    Values values(count);
    client.get({{name, values}});
    return values;
  }
  /// SGD for `a`, which is {1, 2}, and `b`, which is {3} and on another worker.
  static dist::Optimizer makeOptimizer(Client &client) {
    put(client, {{"a", {1, 2}}, {"b", {3}}});
    return client.createOptimizer("o", {textOfRule("sgd")}, {{{"a", "b"}, {{"lr", 1.0}}}});
  }

  RunningWorker one, other;
};

template <typename Call> std::string messageOf(const Call &call) {
  try {
    call();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_F(ClientTest, DistributesParametersBySize) {
  Client client = makeClient();
  put(client, {{"a", Values(4)}, {"b", Values(3)}, {"c", Values(2)}, {"d", Values(1)}});
  EXPECT_EQ(one.server.statistics().tensorBytes, 20u);
  EXPECT_EQ(other.server.statistics().tensorBytes, 20u);
  // Another client finds them, and adds to the same balance.
  Client second = makeClient();
  EXPECT_EQ(get(second, "b", 3), Values(3));
  put(second, {{"a", Values(4, 1.0F)}, {"e", Values(1000)}});
  EXPECT_EQ(get(client, "a", 4), Values(4, 1.0F));
  EXPECT_EQ(one.server.statistics().parameters + other.server.statistics().parameters, 5u);
}

TEST_F(ClientTest, StepsOnAllWorkers) {
  Client client = makeClient();
  put(client, {{"a", {1, 2}}, {"b", {3}}, {"c", {4}}});
  dist::Optimizer optimizer = client.createOptimizer(
      "o", {textOfRule("sgd")}, {{{"a"}, {{"lr", 0.5}}}, {{"b", "c"}, {{"lr", 1.0}}}});
  dist::Context context = optimizer.openContext();
  Values a = {2, 2}, b = {1}, c = {2};
  context.push({{"a", TensorView(a)}, {"b", TensorView(b)}});
  context.push({{"c", TensorView(c)}});
  EXPECT_EQ(context.step(), 3);
  EXPECT_EQ(get(client, "a", 2), (Values{0, 1}));
  EXPECT_EQ(get(client, "b", 1), Values{2});
  EXPECT_EQ(get(client, "c", 1), Values{2});
  optimizer.setHypers(1, {{"lr", 0.25}});
  EXPECT_EQ(context.step(), 3);
  EXPECT_EQ(get(client, "c", 1), Values{1.5});
}

TEST_F(ClientTest, AFailedPushIsRepeatedAndAddedOnce) {
  Client client = makeClient();
  dist::Optimizer optimizer = makeOptimizer(client);
  dist::Context context = optimizer.openContext();
  Values gradient = {1, 1}, wrong = {1, 1}, right = {1};
  EXPECT_THROW(context.push({{"a", TensorView(gradient)}, {"b", TensorView(wrong)}}),
               dist::WorkersFailed);
  EXPECT_EQ(messageOf([&] { context.step(); }),
            "push 1 of the context failed, and only some workers may have its gradients; push the "
            "same gradients again before the step");
  context.push({{"a", TensorView(gradient)}, {"b", TensorView(right)}});
  EXPECT_EQ(context.step(), 2);
  EXPECT_EQ(get(client, "a", 2), (Values{0, 1}));
  EXPECT_EQ(get(client, "b", 1), Values{2});
}

TEST_F(ClientTest, APushThatAllWorkersRefuseIsForgotten) {
  Client client = makeClient();
  dist::Optimizer optimizer = makeOptimizer(client);
  dist::Context context = optimizer.openContext();
  Values gradient = {1, 1}, wrong = {1, 1, 1};
  context.push({{"a", TensorView(gradient)}});
  EXPECT_THROW(context.push({{"a", TensorView(wrong)}, {"b", TensorView(wrong)}}),
               dist::WorkersFailed);
  context.push({{"a", TensorView(gradient)}});
  EXPECT_EQ(context.step(), 1);
  EXPECT_THROW(context.push({{"a", TensorView(gradient)}}), dist::WorkersFailed); // it was stepped
  EXPECT_EQ(context.step(), 1);
  EXPECT_EQ(get(client, "a", 2), (Values{-3, -2}));
}

TEST_F(ClientTest, APushThatCannotBeSentReachesNoWorker) {
  Client client = makeClient();
  dist::Optimizer optimizer = makeOptimizer(client);
  dist::Context context = optimizer.openContext();
  Values gradient = {1, 1}, other = {1};
  context.push({{"a", TensorView(gradient)}, {"b", TensorView(other)}});
  std::vector<int8_t> bytes(1);
  EXPECT_EQ(
      messageOf([&] { context.push({{"a", TensorView(gradient)}, {"b", TensorView(bytes)}}); }),
      "tensor `b` is i8; workers take f32, f64, bf16 and f16");
  EXPECT_EQ(context.step(), 2);
  EXPECT_EQ(get(client, "a", 2), (Values{0, 1}));
  EXPECT_EQ(get(client, "b", 1), Values{2});
}

TEST_F(ClientTest, WorkersForgetAnswersThatTheClientHas) {
  Client client = makeClient();
  put(client, {{"a", {1, 2}}, {"b", {3}}}); // on different workers
  const auto make = [&](const std::string &name) {
    return client.createOptimizer(name, {textOfRule("sgd")}, {{{"a", "b"}, {{"lr", 1.0}}}});
  };
  dist::Optimizer optimizer = make("o"), deleted = make("deleted");
  const auto step = [&] {
    dist::Context context = optimizer.openContext();
    Values a = {1, 1}, b = {1};
    context.push({{"a", TensorView(a)}, {"b", TensorView(b)}});
    EXPECT_EQ(context.step(), 2);
  };
  for (int i = 0; i < 5; ++i)
    step();
  EXPECT_EQ(one.server.statistics().rememberedAnswers, 1u);
  EXPECT_EQ(other.server.statistics().rememberedAnswers, 1u);
  {
    dist::Context failed = deleted.openContext();
    other.server.deleteOptimizer("deleted");
    EXPECT_THROW(failed.step(), dist::WorkersFailed);
    for (int i = 0; i < 5; ++i)
      step();
    EXPECT_EQ(one.server.statistics().rememberedAnswers, 6u); // the failed step may be repeated
  }
  step();
  EXPECT_EQ(one.server.statistics().rememberedAnswers, 1u);
}

TEST_F(ClientTest, ClientsShareAContext) {
  Client first = makeClient("first"), second = makeClient("second");
  put(first, {{"a", {1, 2}}, {"b", {3, 4, 5}}});
  const std::vector<dist::ParameterGroup> groups = {{{"a", "b"}, {{"lr", 1.0}}}};
  dist::Optimizer ours = first.createOptimizer("o", {textOfRule("sgd")}, groups);
  dist::Optimizer theirs = second.createOptimizer("o", {textOfRule("sgd")}, groups);
  dist::Context one = ours.openContext(5), other = theirs.openContext(5);
  Values gradient = {1, 1}, rows = {10, 20};
  one.push({{"a", TensorView(gradient)}});
  other.push({{"a", TensorView(gradient)}, {"b", dist::Gradient({2, 2}, TensorView(rows))}});
  {
    const dist::Context released = std::move(other); // by `second`
  }
  EXPECT_EQ(one.step(), 2);
  EXPECT_EQ(get(second, "a", 2), (Values{-1, 0}));
  EXPECT_EQ(get(second, "b", 3), (Values{3, 4, -25}));
}

TEST_F(ClientTest, ReleasesContexts) {
  Client client = makeClient();
  put(client, {{"a", {1, 2}}, {"b", {3, 4}}});
  dist::Optimizer optimizer = client.createOptimizer("o", {textOfRule("sgd")}, {{{"a", "b"}, {}}});
  {
    const dist::Context context = optimizer.openContext();
    EXPECT_EQ(one.server.statistics().contexts, 1u);
    EXPECT_EQ(other.server.statistics().contexts, 1u);
  }
  {
    dist::Context context = optimizer.openContext();
    context = optimizer.openContext();
    EXPECT_EQ(one.server.statistics().contexts, 1u);
  }
  EXPECT_EQ(one.server.statistics().contexts, 0u);
  EXPECT_EQ(other.server.statistics().contexts, 0u);
}

TEST_F(ClientTest, MovesStatesToOtherWorkers) {
  const auto step = [](dist::Optimizer &optimizer) {
    dist::Context context = optimizer.openContext();
    Values a = {1, 2}, b = {3};
    context.push({{"a", TensorView(a)}, {"b", TensorView(b)}});
    context.step();
  };
  const auto make = [](Client &client) {
    return client.createOptimizer("o", {textOfRule("adam")}, {{{"a", "b", "c"}, {}}});
  };
  Client client = makeClient();
  put(client, {{"a", {1, 2}}, {"b", {3}}, {"c", {4}}});
  dist::Optimizer optimizer = make(client);
  step(optimizer);
  const std::string states = optimizer.states();
  EXPECT_THAT(states, HasSubstr("state/a/"));
  EXPECT_THAT(states, HasSubstr("state/b/step"));
  EXPECT_THAT(states, Not(HasSubstr("state/c/")));

  RunningWorker third;
  dist::ClientOptions options;
  options.workers = {third.address()};
  Client other(options);
  put(other, {{"a", get(client, "a", 2)}, {"b", get(client, "b", 1)}, {"c", {4}}});
  dist::Optimizer moved = make(other);
  moved.setStates(states);
  step(moved);
  step(optimizer);
  EXPECT_EQ(get(other, "a", 2), get(client, "a", 2));
  EXPECT_EQ(get(other, "b", 1), get(client, "b", 1));
  EXPECT_EQ(moved.states(), optimizer.states());

  // A file without states makes the optimizer as it was at first.
  dist::Optimizer fresh = other.createOptimizer("fresh", {textOfRule("adam")}, {{{"a"}, {}}});
  moved.setStates(fresh.states());
  EXPECT_EQ(moved.states(), fresh.states());
  EXPECT_EQ(messageOf([&] { fresh.setStates(states); }),
            "the optimizer `fresh` has no parameter `b`");
  EXPECT_THAT(messageOf([&] { fresh.setStates("nothing"); }), HasSubstr("the states"));
  EXPECT_THAT(messageOf([&] { other.takeSnapshots(); }), HasSubstr("--store"));
}

TEST_F(ClientTest, LimitsTheAgeOfGradients) {
  Client client = makeClient();
  put(client, {{"a", {1, 2}}});
  dist::Optimizer optimizer =
      client.createOptimizer("o", {textOfRule("sgd")}, {{{"a"}, {{"lr", 1.0}}}});
  get(client, "a", 2);
  dist::Context old = optimizer.openContext(), other = optimizer.openContext();
  Values gradient = {1, 1};
  old.push({{"a", TensorView(gradient)}});
  other.push({{"a", TensorView(gradient)}});
  other.limitAge(0);
  EXPECT_EQ(other.step(), 1);
  old.limitAge(0);
  EXPECT_THAT(messageOf([&] { old.step(); }), HasSubstr("at most 0 versions may be between them"));
  old.limitAge(0, true);
  EXPECT_EQ(old.step(), 1);
  EXPECT_EQ(get(client, "a", 2), (Values{-0.5, 0.5}));
}

TEST_F(ClientTest, LimitsTheAgeOnEachWorker) {
  Client client = makeClient();
  dist::Optimizer optimizer = makeOptimizer(client);
  get(client, "a", 2);
  get(client, "b", 1);
  dist::Context old = optimizer.openContext();
  Values a = {1, 1}, b = {1};
  old.push({{"a", TensorView(a)}, {"b", TensorView(b)}});
  put(client, {{"a", {1, 2}}, {"b", {3}}});
  old.limitAge(0);
  const std::string message = messageOf([&] { old.step(); });
  EXPECT_THAT(message, HasSubstr("worker `" + one.address() + "`"));
  EXPECT_THAT(message, HasSubstr("worker `" + other.address() + "`"));
  old.limitAge(1);
  EXPECT_EQ(old.step(), 2);
}

TEST_F(ClientTest, CountsTheWritesOfParameters) {
  using Versions = std::map<std::string, uint64_t>;
  Client client = makeClient();
  EXPECT_EQ(client.versions(), Versions());
  put(client, {{"a", {1, 2}}, {"b", {3}}});
  EXPECT_EQ(client.versions(), (Versions{{"a", 1}, {"b", 1}}));
  dist::Optimizer optimizer =
      client.createOptimizer("o", {textOfRule("sgd")}, {{{"a"}, {{"lr", 1.0}}}});
  dist::Context context = optimizer.openContext();
  Values gradient = {1, 1};
  context.push({{"a", TensorView(gradient)}});
  EXPECT_EQ(context.step(), 1);
  put(client, {{"b", {4}}, {"c", {5}}});
  EXPECT_EQ(client.versions(), (Versions{{"a", 2}, {"b", 2}, {"c", 1}}));
}

TEST_F(ClientTest, TakesANewNameWhenAWorkerHasForgottenIt) {
  Client client = makeClient("ours");
  put(client, {{"a", {1, 2}}, {"b", {3, 4}}});
  dist::Optimizer optimizer =
      client.createOptimizer("o", {textOfRule("sgd")}, {{{"a", "b"}, {{"lr", 1.0}}}});
  dist::Context context = optimizer.openContext();
  const std::string name = client.name();
  EXPECT_THAT(name, StartsWith("ours/"));
  one.server.clients().forget(name);
  EXPECT_THAT(messageOf([&] { context.step(); }),
              HasSubstr("client `" + name +
                        "` is not registered: it is new, or the worker has forgotten "
                        "it; the outcome of its earlier requests is unknown"));
  dist::Context next = optimizer.openContext();
  EXPECT_TRUE(one.server.clients().renew(name + ".2"));
  EXPECT_TRUE(other.server.clients().renew(name + ".2"));
  Values gradient = {1, 1};
  next.push({{"a", TensorView(gradient)}});
  EXPECT_EQ(next.step(), 1);
  EXPECT_EQ(get(client, "a", 2), (Values{0, 1}));
}

TEST_F(ClientTest, RenewsItsLease) {
  Client client = makeClient("ours");
  put(client, {{"a", {1, 2}}, {"b", {3, 4}}});
  dist::Optimizer optimizer = client.createOptimizer("o", {textOfRule("sgd")}, {{{"a", "b"}, {}}});
  const dist::Context context = optimizer.openContext();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_TRUE(one.server.clients().ended().empty());
}

/// Clients in threads step optimizers of their own, over a parameter of their own and a shared one.
TEST_F(ClientTest, ManyClientsLoseAndDoubleNoStep) {
  constexpr int clients = 64;
  const char *given = std::getenv("UPDRAFT_CLIENT_STEPS");
  const int steps = given ? std::atoi(given) : 10;
  Client first = makeClient();
  put(first, {{"shared", {0, 0}}});
  std::vector<std::thread> threads;
  for (int number = 0; number < clients; ++number)
    threads.emplace_back([&, number] {
      Client client = makeClient();
      const std::string name = "o" + std::to_string(number), own = "p" + std::to_string(number);
      put(client, {{own, {0}}});
      dist::Optimizer optimizer =
          client.createOptimizer(name, {textOfRule("sgd")}, {{{"shared", own}, {{"lr", 1.0}}}});
      Values one = {-1, -1}, two = {-2};
      for (int step = 0; step < steps; ++step) {
        dist::Context context = optimizer.openContext();
        context.push({{"shared", TensorView(one)}, {own, TensorView(two)}});
        context.step();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(get(first, "shared", 2), Values(2, static_cast<float>(clients * steps)));
  for (int number = 0; number < clients; ++number)
    EXPECT_EQ(get(first, "p" + std::to_string(number), 1), Values{static_cast<float>(2 * steps)});
}

TEST_F(ClientTest, NamesEachWorkerThatFails) {
  Client client = makeClient();
  put(client, {{"a", {1, 2}}, {"b", {3, 4}}});
  const std::string message =
      messageOf([&] { client.createOptimizer("o", {"rule"}, {{{"a", "b"}, {}}}); });
  EXPECT_THAT(message, HasSubstr("worker `" + one.address() + "`: <rule>:1:5: error:"));
  EXPECT_THAT(message, HasSubstr("worker `" + other.address() + "`: <rule>:1:5: error:"));
}

TEST_F(ClientTest, RefusesWhatItCannotSend) {
  Client client = makeClient();
  EXPECT_EQ(messageOf([] { Client client{dist::ClientOptions()}; }),
            "a client needs the address of a worker");
  EXPECT_EQ(messageOf([&] { get(client, "a", 1); }), "no worker has a parameter `a`; put it first");
  Values values(6);
  const int64_t shape[] = {2, 3}, strides[] = {1, 2};
  upd_tensor view{};
  view.data = values.data();
  view.shape = shape;
  view.strides = strides;
  view.rank = 2;
  EXPECT_THAT(messageOf([&] { client.put({{"a", TensorView(view)}}); }),
              HasSubstr("tensor `a` is not in row-major order; copy it first"));
  std::vector<int8_t> bytes(1);
  EXPECT_THAT(messageOf([&] { client.put({{"a", TensorView(bytes)}}); }),
              HasSubstr("tensor `a` is i8; workers take f32, f64, bf16 and f16"));
  EXPECT_EQ(messageOf([&] { client.put({{"a", TensorView(values)}, {"b", TensorView(bytes)}}); }),
            "tensor `b` is i8; workers take f32, f64, bf16 and f16");
  EXPECT_EQ(messageOf([&] { get(client, "a", 6); }), "no worker has a parameter `a`; put it first");
}

TEST_F(ClientTest, RefusesARuleOverAGroupOnSeveralWorkers) {
  Client client = makeClient();
  put(client, {{"a", {1, 2}}, {"b", {3, 4}}});
  EXPECT_THAT(
      messageOf([&] { client.createOptimizer("o", {textOfRule("prodigy")}, {{{"a", "b"}, {}}}); }),
      HasSubstr("depends on a whole group, and one has parameters on several workers; give those "
                "of each worker a group of their own"));
  client.createOptimizer("p", {textOfRule("prodigy")}, {{{"a"}, {}}, {{"b"}, {}}});
}

TEST_F(ClientTest, GivesUpWhenTheTimeIsOver) {
  const std::string address = one.address();
  one.listening->shutDown(std::chrono::system_clock::now());
  Client client({{address}, "", std::chrono::milliseconds(300)});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(messageOf([&] { get(client, "a", 1); }), HasSubstr("worker `" + address + "`: "));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(ClientTest, AddressesAreDifferent) {
  const auto client = [&](std::vector<std::string> workers) {
    return messageOf([&] { Client({std::move(workers)}); });
  };
  EXPECT_EQ(client({}), "a client needs the address of a worker");
  EXPECT_EQ(client({one.address(), ""}), "an address of a worker is empty");
  EXPECT_EQ(client({one.address(), one.address()}), "an address of a worker is listed twice");
}

/// Without the roots, the connection would not be encrypted.
TEST_F(ClientTest, OptionsForTLSAreComplete) {
  const auto client = [&](const std::string &roots, const std::string &certificate,
                          const std::string &key) {
    dist::ClientOptions options{{one.address()}};
    options.rootCertificates = roots;
    options.certificate = certificate;
    options.key = key;
    return messageOf([&] { const Client made(options); });
  };
  EXPECT_EQ(client("", "certificate", "key"),
            "the client's options have a certificate without `rootCertificates`, and its "
            "connections would not be encrypted; set the certificates of the workers' authority");
  EXPECT_EQ(client("roots", "certificate", ""),
            "the client's options have a certificate without a key; set both or neither");
  EXPECT_EQ(client("roots", "", "key"),
            "the client's options have a key without a certificate; set both or neither");
}

TEST_F(ClientTest, AnOptimizerHasParameters) {
  Client client = makeClient();
  for (const std::vector<dist::ParameterGroup> &groups :
       {std::vector<dist::ParameterGroup>{}, {{{}, {}}}})
    EXPECT_EQ(messageOf([&] { client.createOptimizer("o", {textOfRule("sgd")}, groups); }),
              "the optimizer `o` has no parameters");
}

TEST_F(ClientTest, TheLongestTimeout) {
  Client client({{one.address()}, "", std::chrono::milliseconds::max()});
  put(client, {{"a", {1}}});
  EXPECT_EQ(get(client, "a", 1), (Values{1}));
}

TEST_F(ClientTest, AContextThatOneWorkerDoesNotOpenIsReleasedOnTheOther) {
  Client client = makeClient("", 300);
  put(client, {{"a", {1}}, {"b", {2}}});
  dist::Optimizer optimizer =
      client.createOptimizer("o", {textOfRule("sgd")}, {{{"a", "b"}, {{"lr", 1.0}}}});
  {
    const dist::Context registers = optimizer.openContext();
  }
  other.listening->shutDown(std::chrono::system_clock::now());
  EXPECT_THROW(optimizer.openContext(5), dist::WorkersFailed);
  EXPECT_EQ(one.server.statistics().contexts, 0u);
}

/// It would send its requests under the same name.
TEST_F(ClientTest, AForkDoesNotUseTheClient) {
  Client client({{"127.0.0.1:1"}});
  const pid_t child = ::fork();
  if (child == 0) {
    Values values(1);
    try {
      client.get({{"a", TensorView(values)}});
    } catch (const dist::WorkersFailed &error) {
      const std::string text = error.what();
      ::_exit(text.find("belongs to another process") == std::string::npos ? 1 : 0);
    }
    ::_exit(2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

namespace {

/// Workers with stores, which can be started again at the same address.
class RestartTest : public testing::Test {
protected:
  struct Durable {
    explicit Durable(uint64_t number) : number(number) { start(); }
    void start() {
      worker.reset();
      store.reset();
      store.emplace(std::make_unique<store::SimulatedDisk>(storage), number);
      worker = std::make_unique<RunningWorker>(number, &*store, port);
      port = worker->port();
    }

    const uint64_t number;
    store::SimulatedStorage storage;
    std::optional<store::Store> store;
    std::unique_ptr<RunningWorker> worker;
    int port = 0;
  };

  RestartTest() : client({{one.worker->address(), other.worker->address()}, "ours"}) {
    Values a = {1, 2}, b = {3, 4};
    client.put({{"a", TensorView(a)}, {"b", TensorView(b)}});
    optimizer.emplace(
        client.createOptimizer("o", {textOfRule("sgd")}, {{{"a", "b"}, {{"lr", 1.0}}}}));
  }
  void push(dist::Context &context) {
    Values gradient = {1, 1};
    context.push({{"a", TensorView(gradient)}});
    context.push({{"b", TensorView(gradient)}});
  }
  Values get(const std::string &name) {
    Values values(2);
    client.get({{name, TensorView(values)}});
    return values;
  }

  Durable one{1}, other{2};
  Client client;
  std::optional<dist::Optimizer> optimizer;
};

} // namespace

TEST_F(RestartTest, GradientsArePushedAgainAndNoWorkerStepsTwice) {
  dist::Context context = optimizer->openContext();
  push(context);
  other.start();
  EXPECT_THROW(context.step(), dist::ContextLost); // the first worker has stepped
  push(context);
  EXPECT_EQ(context.step(), 2);
  EXPECT_EQ(get("a"), (Values{0, 1}));
  EXPECT_EQ(get("b"), (Values{2, 3}));
  // The answers outlive the workers.
  one.start();
  other.start();
  EXPECT_EQ(get("a"), (Values{0, 1}));
}

TEST_F(RestartTest, AStepNeedsAllPushesAgain) {
  dist::Context context = optimizer->openContext();
  push(context);
  other.start();
  EXPECT_THROW(context.step(), dist::ContextLost);
  Values gradient = {1, 1};
  EXPECT_THROW(context.push({{"b", TensorView(gradient)}}), std::invalid_argument); // it was `a`
  context.push({{"a", TensorView(gradient)}});
  EXPECT_THROW(context.step(), std::invalid_argument);
  context.push({{"b", TensorView(gradient)}});
  EXPECT_EQ(context.step(), 2);
  EXPECT_EQ(get("a"), (Values{0, 1}));
  EXPECT_EQ(get("b"), (Values{2, 3}));
}

TEST_F(RestartTest, AClientWithoutPushesOpensItsContextAgain) {
  dist::Context context = optimizer->openContext(5);
  other.start();
  // The first worker steps, without gradients.
  EXPECT_THROW(context.step(), dist::ContextLost);
  dist::Context theirs = optimizer->openContext(5);
  Values gradient = {1, 1};
  theirs.push({{"a", TensorView(gradient)}});
  EXPECT_EQ(context.step(), 1);
  EXPECT_EQ(get("a"), (Values{0, 1}));
}

/// ContextLost would make a program push the gradients again, without end.
TEST_F(RestartTest, AForgottenClientHasNotJustLostItsContext) {
  dist::Context context = optimizer->openContext();
  push(context);
  other.start();
  EXPECT_THROW(context.step(), dist::ContextLost);
  other.worker->server.clients().forget(client.name());
  try {
    push(context);
    FAIL();
  } catch (const dist::ContextLost &) {
    FAIL();
  } catch (const dist::WorkersFailed &error) {
    EXPECT_EQ(error.failures()[0].reason, "client-unknown");
  }
}

TEST_F(RestartTest, AllWorkersStepOrNone) {
  dist::Context context = optimizer->openContext();
  push(context);
  EXPECT_EQ(context.stepAllOrNone(), 2);
  EXPECT_EQ(get("a"), (Values{0, 1}));
  EXPECT_EQ(get("b"), (Values{2, 3}));
  dist::Context next = optimizer->openContext();
  push(next);
  other.start();
  EXPECT_THAT(messageOf([&] { next.stepAllOrNone(); }),
              HasSubstr("no worker has applied the step, because worker `" +
                        other.worker->address() + "` has not prepared it: client `"));
  EXPECT_EQ(get("a"), (Values{0, 1}));
  push(next);
  EXPECT_EQ(next.stepAllOrNone(), 2);
  EXPECT_EQ(get("a"), (Values{-1, 0}));
  EXPECT_EQ(get("b"), (Values{1, 2}));
}

TEST_F(RestartTest, TheCoordinatorIsWhereOthersReachIt) {
  // As if the other worker were on another machine, where another one has the coordinator's
  // address.
  worker::v1::PrepareRequest request;
  request.add_workers(one.worker->address());
  request.add_workers(other.worker->address());
  request.set_self(1);
  request.set_coordinator_epoch(12345);
  worker::v1::PrepareResponse response;
  grpc::ClientContext context;
  const grpc::Status status =
      worker::v1::Peer::NewStub(
          grpc::CreateChannel(other.worker->address(), grpc::InsecureChannelCredentials()))
          ->Prepare(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "the coordinator is not the worker that this one reaches at `" +
                                        one.worker->address() +
                                        "`; use addresses that are the same for clients and all "
                                        "workers");
}

TEST_F(RestartTest, AStepOfAllNeedsDurableWorkers) {
  RunningWorker forgetful;
  Client other({{forgetful.address()}, "other"});
  Values a = {1, 2};
  other.put({{"a", TensorView(a)}});
  dist::Optimizer optimizer = other.createOptimizer("o", {textOfRule("sgd")}, {{{"a"}, {}}});
  dist::Context context = optimizer.openContext();
  EXPECT_THAT(messageOf([&] { context.stepAllOrNone(); }),
              HasSubstr("a step of all workers or none needs workers that record each step; start "
                        "them with --store and --durability=step"));
}
