//===- DurabilityTests.cpp - Servers that are started again -----------------------------------===//

#include "../Store/ReadFile.h"
#include "PackedRules.h"
#include "Requests.h"
#include "SimulatedDisk.h"
#include "Tensors.h"
#include "runtime/server/Server.h"
#include "runtime/store/StoreError.h"
#include "updraft/Packager/Packager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <new>
#include <optional>
#include <utility>

using namespace updraft::server;
using updraft::store::PowerLoss;
using updraft::store::SimulatedDisk;
using updraft::store::SimulatedStorage;
using updraft::store::StoreError;

namespace {

/// A server on a simulated disk.
class Process {
public:
  Process(SimulatedStorage &storage, Durability durability, RuleMaker makeRule = packedOnce)
      : store(std::make_unique<SimulatedDisk>(storage), 99),
        server({}, std::move(makeRule), std::chrono::steady_clock::now, durability, &store) {}

  updraft::store::Store store;
  Server server;
};

class DurabilityTest : public testing::Test {
protected:
  /// Ends the process as SIGKILL does, and starts another.
  Server &start(Durability durability = Durability::Step, double kept = 1) {
    process.reset();
    storage.restart(random, kept);
    process.emplace(storage, durability);
    return process->server;
  }
  Server &server() { return process->server; }

  void put(const std::string &name, const std::vector<float> &values) {
    server().sync(server().put(name, vectorOf(values, server().budget())));
  }
  std::vector<float> valuesAt(const std::string &name) {
    return valuesOf(server().copies(server().parameters().find({name}))[0].tensor);
  }
  /// Pushes a gradient in a context of its own and steps.
  int64_t step(uint64_t sequence, std::vector<Gradient> gradients) {
    server().openContext("o", sequence, "a");
    server().push("o", sequence, {"a", sequence}, std::move(gradients));
    const int64_t stepped = server().step("o", sequence, {"a", sequence});
    server().releaseContext("o", sequence, "a");
    return stepped;
  }
  std::vector<Gradient> gradientOf(const std::vector<float> &values) {
    std::vector<Gradient> result;
    result.push_back({0, std::nullopt, vectorOf(values, server().budget())});
    return result;
  }
  std::vector<Gradient> rowOf(int64_t row, float value) {
    std::vector<Gradient> result = gradientOf({value});
    result[0].rows = {row};
    return result;
  }
  void createAdam() {
    server().registerClient("a");
    put("w", {1, 2, 3});
    put("v", {5});
    server().createOptimizer(requestOf("o", "adam", {{{"w"}, {{"lr", 0.5}}}, {{"v"}, {}}}));
  }

  /// Starts a process that will not be killed, for comparison.
  void startOver() {
    process.reset();
    storage = SimulatedStorage();
    start(Durability::None);
    createAdam();
  }

  SimulatedStorage storage;
  std::mt19937_64 random{1};
  std::optional<Process> process;
};

/// Another worker, which prepares every step. This worker is `self`.
class PreparingPeer : public Peers {
public:
  bool isSelf(const std::string &worker) override { return worker == "self"; }
  int64_t prepare(const std::string &, const Transaction &transaction) override {
    attempt = transaction.attempt;
    return 1;
  }
  void decide(const std::string &, const Decision &decision) override {
    told.push_back(decision.isCommitted);
  }
  Outcome outcome(const std::string &, const RequestKey &, uint64_t) override {
    return Outcome::Undecided;
  }

  uint64_t attempt = 0;
  std::vector<bool> told; ///< decisions
};

} // namespace

TEST_F(DurabilityTest, EveryAnsweredChangeIsThereAfterALossOfPower) {
  start();
  createAdam();
  EXPECT_EQ(step(1, gradientOf({1, -1, 2})), 1);
  server().setHypers(hypersOf("o", 0, {{"lr", 0.25}}));
  EXPECT_EQ(step(2, gradientOf({3, 1, 1})), 1);
  put("u", {8, 9});
  EXPECT_EQ(step(3, rowOf(1, 4)), 1);
  const std::vector<float> before = valuesAt("w");

  start(Durability::Step, 0);
  EXPECT_EQ(valuesAt("w"), before);
  EXPECT_EQ(valuesAt("u"), (std::vector<float>{8, 9}));
  EXPECT_EQ(server().parameters().find({"w"})[0]->version, 4u);
  EXPECT_EQ(server().step("o", 3, {"a", 3}), 1); // the answer is known, though the context is not
  EXPECT_EQ(valuesAt("w"), before);
  EXPECT_EQ(
      refusalOf(Reason::ContextUnknown, [&] { server().step("o", 3, {"a", 4}); }),
      "client `a` doesn't have context 3 of optimizer `o` open; it was released, or never opened");

  // The states are there, too: another step has the bits that it has without a restart.
  const auto next = [&] {
    step(4, gradientOf({1, 1, 1}));
    return valuesAt("w");
  };
  const std::vector<float> after = next();
  startOver();
  step(1, gradientOf({1, -1, 2}));
  server().setHypers(hypersOf("o", 0, {{"lr", 0.25}}));
  step(2, gradientOf({3, 1, 1}));
  step(3, rowOf(1, 4));
  EXPECT_EQ(next(), after);
}

TEST_F(DurabilityTest, WrittenStatesAreThereAfterALossOfPower) {
  start();
  createAdam();
  step(1, gradientOf({1, -1, 2}));
  const std::string written = server().states("o").bytes; // with one step and a learning rate
  server().setHypers(hypersOf("o", 0, {{"lr", 0.25}}));
  step(2, gradientOf({3, 1, 1}));
  ASSERT_NE(server().states("o").bytes, written);
  server().setStates("o", written);
  const std::vector<float> before = valuesAt("w");

  start(Durability::Step, 0);
  EXPECT_EQ(server().states("o").bytes, written);
  EXPECT_EQ(server().hypers("o")[0].at("lr"), 0.5);
  EXPECT_EQ(valuesAt("w"), before);
  step(3, gradientOf({1, 1, 1}));
  const std::vector<float> after = valuesAt("w");
  const std::string states = server().states("o").bytes;

  // The next step has the bits that it has without a restart.
  startOver();
  step(1, gradientOf({1, -1, 2}));
  step(2, gradientOf({3, 1, 1}));
  put("w", before);
  server().setStates("o", written);
  step(3, gradientOf({1, 1, 1}));
  EXPECT_EQ(valuesAt("w"), after);
  EXPECT_EQ(server().states("o").bytes, states);
}

TEST_F(DurabilityTest, RefusedStatesAreNotThereAfterALossOfPower) {
  start();
  createAdam();
  step(1, gradientOf({1, -1, 2}));
  const std::string before = server().states("o").bytes;
  server().createOptimizer(requestOf("other", "adam", {{{"v"}, {}}}));
  const std::string other = server().states("other").bytes;
  const std::string damaged = before.substr(0, before.size() - 1);
  EXPECT_NE(refusalOf(Reason::InvalidArgument, [&] { server().setStates("o", damaged); }),
            "no refusal");
  EXPECT_EQ(server().states("o").bytes, before);
  storage.capacity = 0;
  EXPECT_NE(refusalOf(Reason::ResourceExhausted, [&] { server().setStates("o", other); }),
            "no refusal");
  EXPECT_EQ(server().states("o").bytes, before);
  storage.capacity = SIZE_MAX;
  start(Durability::Step, 0);
  EXPECT_EQ(server().states("o").bytes, before);
}

/// Another compiler could make code with other bits.
TEST_F(DurabilityTest, ARestartCompilesNothing) {
  const auto restart = [&] {
    process.reset();
    storage.restart(random, 0);
    process.emplace(storage, Durability::Step,
                    [](const updraft::worker::v1::Rule &) -> std::string {
                      throw Refusal(Reason::Internal, "there is no compiler");
                    });
  };
  for (const bool hasSnapshot : {false, true}) {
    storage = SimulatedStorage();
    start();
    createAdam();
    step(1, gradientOf({1, -1, 2}));
    if (hasSnapshot)
      server().takeSnapshot();
    step(2, gradientOf({3, 1, 1}));
    const std::vector<float> before = valuesAt("w");
    const std::string states = server().states("o").bytes;
    const std::string package = server().optimizer("o")->package();

    restart();
    EXPECT_EQ(valuesAt("w"), before);
    EXPECT_EQ(server().states("o").bytes, states);
    EXPECT_EQ(server().optimizer("o")->package(), package);
    // The same request still finds the optimizer. Another one needs the compiler.
    server().createOptimizer(requestOf("o", "adam", {{{"w"}, {{"lr", 0.5}}}, {{"v"}, {}}}));
    EXPECT_EQ(refusalOf(Reason::Internal,
                        [&] { server().createOptimizer(requestOf("p", "sgd", {{{"w"}, {}}})); }),
              "there is no compiler");
    step(3, gradientOf({1, 1, 1}));
    const std::vector<float> after = valuesAt("w");

    startOver();
    step(1, gradientOf({1, -1, 2}));
    step(2, gradientOf({3, 1, 1}));
    step(3, gradientOf({1, 1, 1}));
    EXPECT_EQ(valuesAt("w"), after);
    process.reset();
  }
}

TEST_F(DurabilityTest, AStepWithoutGradientsIsRemembered) {
  start();
  createAdam();
  server().openContext("o", 1, "a");
  EXPECT_EQ(server().step("o", 1, {"a", 1}), 0);
  start(Durability::Step, 0);
  server().openContext("o", 1, "a");
  server().push("o", 1, {"a", 2}, gradientOf({1, -1, 2}));
  EXPECT_EQ(server().step("o", 1, {"a", 1}), 0);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{1, 2, 3}));
}

/// Without gradients, a step holds no lock of its optimizer.
TEST_F(DurabilityTest, AStepWithoutGradientsMayOutliveItsOptimizer) {
  start();
  createAdam();
  server().openContext("o", 1, "a");
  ASSERT_EQ(server().prepare({"o", 1, {"a", 1}, 5, {"coordinator", "self"}, 1}), 0);
  EXPECT_EQ(server().step("o", 1, {"a", 2}), 0);
  server().deleteOptimizer("o");
  server().takeSnapshot();
  start(Durability::Step, 0);
  EXPECT_EQ(server().statistics().undecidedSteps, 1u);
  server().decide({{"a", 1}, 5, true, 0, {}});
  EXPECT_EQ(server().step("o", 1, {"a", 1}), 0);
  EXPECT_EQ(server().step("o", 1, {"a", 2}), 0);
}

TEST_F(DurabilityTest, ASnapshotReplacesTheJournal) {
  start();
  createAdam();
  step(1, gradientOf({1, -1, 2}));
  server().takeSnapshot();
  EXPECT_EQ(server().statistics().journalBytes, 0u);
  const std::vector<float> before = valuesAt("w");
  start(Durability::Step, 0);
  EXPECT_EQ(valuesAt("w"), before);
  EXPECT_EQ(server().parameters().find({"w"})[0]->version, 2u);
  EXPECT_EQ(server().step("o", 1, {"a", 1}), 1);
  step(2, gradientOf({1, 1, 1}));
  const std::vector<float> after = valuesAt("w");
  server().takeSnapshot();
  start(Durability::Step, 0);
  EXPECT_EQ(valuesAt("w"), after);
  for (const std::string &name : storage.names())
    EXPECT_FALSE(name.starts_with("snapshot-1-")) << name;
}

TEST_F(DurabilityTest, StatesOfSquareMatricesAreInTheJournalAndInSnapshots) {
  start();
  server().registerClient("a");
  const auto matrix = [&](const std::vector<float> &values) {
    return tensorOf(values, {3, 2}, server().budget());
  };
  server().sync(server().put("w", matrix({1, 0, 0, 1, 0, 0})));
  updraft::worker::v1::CreateOptimizerRequest request = requestOf("o", "sgd", {{{"w"}, {}}});
  request.mutable_rule()->set_source(R"(
    rule Preconditioned(lr = 1) {
      state l over (row, row) = 0 when matrix

      update(param, grad) {
        let left   = if matrix then l + gram(grad) else 0

        next l     = left
        next param = param - lr * (if matrix then left @ grad else grad)
      }
    }
  )");
  server().createOptimizer(request);
  // The state becomes n times the diagonal matrix of 1, 4, 0.
  const auto stepOnce = [&](uint64_t number) {
    std::vector<Gradient> gradients;
    gradients.push_back({0, std::nullopt, matrix({1, 0, 0, 2, 0, 0})});
    EXPECT_EQ(step(number, std::move(gradients)), 1);
  };
  stepOnce(1);
  start(Durability::Step, 0);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{0, 0, 0, -7, 0, 0}));
  stepOnce(2);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{-2, 0, 0, -23, 0, 0}));
  server().takeSnapshot();
  start(Durability::Step, 0);
  stepOnce(3);
  EXPECT_EQ(valuesAt("w"), (std::vector<float>{-5, 0, 0, -47, 0, 0}));
}

TEST_F(DurabilityTest, WithSnapshotsAloneTheLastOneCounts) {
  start(Durability::Snapshot);
  createAdam();
  step(1, gradientOf({1, -1, 2}));
  const std::vector<float> before = valuesAt("w");
  server().takeSnapshot();
  step(2, gradientOf({1, -1, 2}));
  start(Durability::Snapshot);
  EXPECT_EQ(valuesAt("w"), before);
}

TEST_F(DurabilityTest, AJournalThatIsNotContinuedBecomesASnapshot) {
  start();
  createAdam();
  step(1, gradientOf({1, -1, 2}));
  const std::vector<float> before = valuesAt("w");
  start(Durability::Snapshot, 0);
  EXPECT_EQ(valuesAt("w"), before);
  EXPECT_EQ(server().statistics().journalBytes, 0u);
  start(Durability::Step, 0);
  EXPECT_EQ(valuesAt("w"), before);
}

TEST_F(DurabilityTest, ADeletedOptimizerStaysDeleted) {
  start();
  createAdam();
  step(1, gradientOf({1, -1, 2}));
  server().deleteOptimizer("o");
  server().createOptimizer(requestOf("o", "sgd", {{{"w"}, {{"lr", 1.0}}}}));
  start();
  EXPECT_EQ(server().optimizer("o")->parameters().size(), 1u);
  server().deleteOptimizer("o");
  start();
  EXPECT_EQ(server().statistics().optimizers, 0u);
  EXPECT_EQ(server().statistics().parameters, 2u);
}

TEST_F(DurabilityTest, AFullDiskRefusesStepsAndServesReads) {
  start();
  createAdam();
  step(1, gradientOf({1, -1, 2}));
  const std::vector<float> before = valuesAt("w");
  storage.capacity = 0;
  const std::string text =
      "the worker's disk is full, and the change must be recorded before it is "
      "made: no space left on the simulated disk";
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { step(2, gradientOf({1, 1, 1})); }), text);
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { put("w", {0, 0, 0}); }), text);
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted,
                      [&] { server().setHypers(hypersOf("o", 0, {{"lr", 7}})); }),
            text);
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { server().deleteOptimizer("o"); }), text);
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { server().takeSnapshot(); })
                .starts_with("cannot write a snapshot: "),
            true);
  EXPECT_EQ(valuesAt("w"), before);
  storage.capacity = SIZE_MAX;
  EXPECT_EQ(server().step("o", 2, {"a", 2}), 1); // the context is still there
  const std::vector<float> after = valuesAt("w");
  EXPECT_NE(after, before);
  start(Durability::Step, 0);
  EXPECT_EQ(valuesAt("w"), after);
}

TEST_F(DurabilityTest, AFailedSyncHasAnUnknownOutcome) {
  start();
  createAdam();
  server().openContext("o", 1, "a");
  server().push("o", 1, {"a", 1}, gradientOf({1, -1, 2}));
  storage.failingSync = storage.syncs + 1;
  EXPECT_EQ(refusalOf(Reason::OutcomeUnknown, [&] { server().step("o", 1, {"a", 1}); })
                .starts_with("the outcome is unknown, because the change could not be written"),
            true);
  EXPECT_EQ(refusalOf(Reason::OutcomeUnknown, [&] { server().step("o", 1, {"a", 1}); }),
            "the outcome of request 1 of client `a` is unknown, because it could not be written to "
            "the disk; it is not carried out again");
  EXPECT_EQ(refusalOf(Reason::Unavailable, [&] { server().step("o", 1, {"a", 2}); })
                .starts_with("the journal takes no more records since an error"),
            true);
}

TEST_F(DurabilityTest, HyperparametersThatMayBeLostAreNotReturned) {
  start();
  createAdam();
  EXPECT_EQ(server().hypers("o")[0].at("lr"), 0.5);
  storage.failingSync = storage.syncs + 1;
  const std::string text = "the outcome is unknown, because the change could not be written";
  EXPECT_EQ(refusalOf(Reason::OutcomeUnknown,
                      [&] { server().setHypers(hypersOf("o", 0, {{"lr", 0.25}})); })
                .starts_with(text),
            true);
  EXPECT_EQ(refusalOf(Reason::OutcomeUnknown, [&] { server().hypers("o"); }).starts_with(text),
            true);
}

/// After some failures it isn't known which snapshot the catalog has. No file of any may go.
TEST_F(DurabilityTest, SnapshotsThatCannotBeSyncedCostNothing) {
  const auto fails = [&](uint64_t sync) {
    storage.failingSync = storage.syncs + sync;
    const std::string text = refusalOf(Reason::Internal, [&] { server().takeSnapshot(); });
    storage.failingSync = 0;
    return text != "no refusal";
  };
  uint64_t first = 1;
  for (bool hasFailed = true; hasFailed; ++first)
    for (uint64_t second = 1;; ++second) {
      storage = {};
      start();
      createAdam();
      step(1, gradientOf({1, -1, 2}));
      server().takeSnapshot();
      step(2, gradientOf({1, -1, 2}));
      const std::vector<float> before = valuesAt("w");
      hasFailed = fails(first);
      const bool isLast = !hasFailed || !fails(second);
      storage.capacity = 0; // the next snapshot fails, and removes what no snapshot needs
      EXPECT_NE(refusalOf(Reason::Internal, [&] { server().takeSnapshot(); }), "no refusal");
      storage.capacity = SIZE_MAX;
      start();
      EXPECT_EQ(valuesAt("w"), before) << first << ", " << second;
      server().takeSnapshot();
      start(Durability::Step, 0);
      EXPECT_EQ(valuesAt("w"), before) << first << ", " << second;
      if (isLast)
        break;
    }
  EXPECT_GE(first, 6u);
}

/// After a restart, the coordinator may not have the decision and aborts the step.
TEST_F(DurabilityTest, NoWorkerIsToldADecisionThatMayNotBeOnTheDisk) {
  start();
  createAdam();
  server().openContext("o", 1, "a");
  server().push("o", 1, {"a", 1}, gradientOf({1, -1, 2}));
  PreparingPeer peer;
  storage.failingSync = storage.syncs + 2; // the first is that of the prepared step
  EXPECT_EQ(refusalOf(Reason::OutcomeUnknown,
                      [&] { server().stepAll("o", 1, {"a", 2}, {"self", "peer"}, peer); })
                .starts_with("the outcome is unknown, because the change could not be written"),
            true);
  server().resolve(peer);
  EXPECT_TRUE(peer.told.empty());
  EXPECT_EQ(server().outcome({"a", 2}, peer.attempt), Outcome::Undecided);
}

/// Otherwise workers that have prepared it would keep its locks.
TEST_F(DurabilityTest, AnAttemptEndsWithoutMemory) {
  class Failing : public PreparingPeer {
  public:
    int64_t prepare(const std::string &worker, const Transaction &transaction) override {
      PreparingPeer::prepare(worker, transaction);
      throw std::bad_alloc();
    }
  };
  start();
  createAdam();
  server().openContext("o", 1, "a");
  server().push("o", 1, {"a", 1}, gradientOf({1, -1, 2}));
  Failing peer;
  EXPECT_THROW(server().stepAll("o", 1, {"a", 2}, {"self", "peer"}, peer), std::bad_alloc);
  EXPECT_EQ(peer.told, std::vector<bool>{false});
  EXPECT_EQ(server().outcome({"a", 2}, peer.attempt), Outcome::Unknown);
}

TEST_F(DurabilityTest, APreparedStepStaysOfItsAttempt) {
  start();
  createAdam();
  server().openContext("o", 1, "a");
  server().push("o", 1, {"a", 1}, gradientOf({1, -1, 2}));
  const std::vector<float> before = valuesAt("w");
  const auto prepare = [&](const std::string &coordinator, uint64_t attempt) {
    return server().prepare({"o", 1, {"a", 2}, attempt, {coordinator, "self"}, 1});
  };
  EXPECT_EQ(prepare("x", 5), 1);
  // Of another coordinator, and late.
  for (const auto &[coordinator, attempt] : {std::pair("y", 6), std::pair("x", 4)})
    EXPECT_EQ(refusalOf(Reason::Unavailable, [&] { prepare(coordinator, attempt); }),
              "the same step is prepared by another attempt, which isn't decided; try again");
  EXPECT_EQ(server().outcome({"a", 2}, 4), Outcome::Unknown);
  EXPECT_EQ(server().outcome({"a", 2}, 5), Outcome::Undecided);
  server().decide({{"a", 2}, 4, false, 0, {}});
  EXPECT_THROW(start(Durability::Snapshot), StoreError); // which would forget it
  start(Durability::Step, 0);
  EXPECT_EQ(server().statistics().undecidedSteps, 1u);
  server().decide({{"a", 2}, 5, true, 0, {}});
  EXPECT_NE(valuesAt("w"), before);
  start(Durability::Snapshot);
}

/// The coordinator told another worker to apply the step, and then lost its store.
TEST_F(DurabilityTest, ADecisionThatAWorkerKnowsIsTakenBeforeTheCoordinatorsMissingOne) {
  class Others : public PreparingPeer {
  public:
    Outcome outcome(const std::string &worker, const RequestKey &, uint64_t) override {
      return worker == "coordinator" ? Outcome::Unknown : other;
    }
    Outcome other = Outcome::Committed;
  };
  Others others;
  for (Outcome other : {Outcome::Unknown, Outcome::Committed}) {
    storage = SimulatedStorage();
    start();
    createAdam();
    server().openContext("o", 1, "a");
    server().push("o", 1, {"a", 1}, gradientOf({1, -1, 2}));
    const std::vector<float> before = valuesAt("w");
    ASSERT_EQ(server().prepare({"o", 1, {"a", 2}, 5, {"coordinator", "self", "told"}, 1}), 1);
    others.other = other;
    server().resolve(others);
    EXPECT_EQ(server().statistics().undecidedSteps, 0u);
    EXPECT_EQ(valuesAt("w") != before, other == Outcome::Committed);
  }
}

TEST_F(DurabilityTest, AnAbandonedStepLeavesItsContextOpen) {
  start();
  createAdam();
  server().openContext("o", 1, "a");
  server().push("o", 1, {"a", 1}, gradientOf({1, -1, 2}));
  ASSERT_EQ(server().prepare({"o", 1, {"a", 2}, 5, {"coordinator", "self"}, 1}), 1);
  EXPECT_EQ(refusalOf(Reason::Unavailable,
                      [&] { server().push("o", 1, {"a", 3}, gradientOf({1, -1, 2})); }),
            "a step of the context is under way; try again");
  server().decide({{"a", 2}, 5, false, 0, {}});
  server().push("o", 1, {"a", 3}, gradientOf({1, -1, 2}));
  ASSERT_EQ(server().prepare({"o", 1, {"a", 4}, 6, {"coordinator", "self"}, 1}), 1);
  server().decide({{"a", 4}, 6, true, 0, {}});
  EXPECT_EQ(refusalOf(Reason::FailedPrecondition,
                      [&] { server().push("o", 1, {"a", 5}, gradientOf({1, -1, 2})); }),
            "the context has been stepped, and takes no more gradients; open another");
}

TEST_F(DurabilityTest, RefusesCodeThatThisMachineCannotRun) {
  start();
  createAdam();
  server().takeSnapshot();
  process.reset();
  updraft::PackRequest request;
  request.rule.source = textOfRule("adam");
  request.rule.filename = "adam.upd";
#if defined(__x86_64__)
  request.targets = {"aarch64"};
#else
  request.targets = {"x86-64-v2"};
#endif
  {
    updraft::store::Store store(std::make_unique<SimulatedDisk>(storage), 99);
    store.replay([](uint64_t, std::string_view) {});
    SimulatedDisk disk(storage);
    updraft::store::SnapshotContent content{
        store.snapshot(), updraft::store::readFile(disk, store.snapshot().parameters.name), {}};
    for (updraft::store::StoredOptimizer &optimizer : content.snapshot.optimizers) {
      content.states.push_back(updraft::store::readFile(disk, optimizer.states.name));
      optimizer.package = llvm::cantFail(updraft::packRule(request));
    }
    content.snapshot.record = store.journal().startSegment();
    store.save(std::move(content));
  }
  try {
    start();
    FAIL();
  } catch (const StoreError &error) {
    EXPECT_NE(std::string(error.what()).find("has no code for this CPU"), std::string::npos)
        << error.what();
  }
}

TEST_F(DurabilityTest, RefusesADamagedSnapshot) {
  start();
  createAdam();
  step(1, gradientOf({1, -1, 2}));
  server().takeSnapshot();
  process.reset();
  for (const std::string name :
       {"snapshot-1-parameters.safetensors", "snapshot-1-states-0.safetensors"}) {
    const std::string whole = storage.content(name);
    std::string content = whole;
    content.back() = static_cast<char>(content.back() ^ 1);
    storage.setContent(name, content);
    try {
      start();
      FAIL();
    } catch (const StoreError &error) {
      EXPECT_EQ(error.kind(), StoreError::Kind::Damaged);
      EXPECT_EQ(error.what(), "`" + name +
                                  "` is damaged: its content is not what was written; "
                                  "restore it from a copy");
    }
    storage.setContent(name, whole);
  }
}

namespace {

/// Changes in a random order, on a server that loses power. A second server without a disk makes
/// the same changes, and is what the first must be equal to.
class PowerLossRun {
public:
  explicit PowerLossRun(uint64_t seed) : random(seed) {}

  void run() {
    makeServer();
    for (int change = 0; change < 40; ++change) {
      if (pick(6) == 0)
        storage.failsAt = storage.operations + 1 + pick(20);
      const uint64_t kind = pick(11), seed = random();
      try {
        make(server(), kind, seed);
      } catch (const PowerLoss &) {
        restart();
        // The change was made, or it was not.
        if (isSame())
          continue;
        make(reference, kind, seed);
        ASSERT_TRUE(isSame()) << "change " << change << " of kind " << kind;
        continue;
      }
      make(reference, kind, seed);
      ASSERT_TRUE(isSame()) << "change " << change << " of kind " << kind;
      repeatARequest();
    }
  }

private:
  Server &server() { return process->server; }
  uint64_t pick(uint64_t below) { return random() % below; }

  void makeServer() {
    process.emplace(storage, Durability::Step);
    for (Server *one : {&server(), &reference}) {
      one->sync(one->put("w", vectorOf({1, 2, 3, 4}, one->budget())));
      one->createOptimizer(requestOf("o", "adam", {{{"w"}, {}}}));
    }
    states.push_back(reference.states("o").bytes);
  }

  void restart() {
    for (;;) {
      process.reset();
      storage.restart(random, std::vector<double>{0, 0.5, 0.9, 1}[pick(4)]);
      if (pick(3) == 0) // the power fails again
        storage.failsAt = storage.operations + 1 + pick(10);
      try {
        process.emplace(storage, Durability::Step);
        storage.failsAt = 0;
        return;
      } catch (const PowerLoss &) {
      }
    }
  }

  void make(Server &on, uint64_t kind, uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto value = [&] { return static_cast<float>(random() % 100) - 50; };
    if (kind == 0) {
      on.sync(on.put("w", vectorOf({value(), value(), value(), value()}, on.budget())));
    } else if (kind == 1) {
      on.setHypers(hypersOf("o", 0, {{"lr", double(random() % 100) / 100}}));
    } else if (kind == 2) {
      if (&on != &reference)
        on.takeSnapshot();
    } else if (kind == 3) {
      on.sync(on.put("p" + std::to_string(random() % 3), vectorOf({value()}, on.budget())));
    } else if (kind == 4) {
      on.setStates("o", states[random() % states.size()]);
    } else {
      std::vector<Gradient> gradients;
      gradients.push_back(
          {0, std::nullopt, vectorOf({value(), value(), value(), value()}, on.budget())});
      const uint64_t number = random() >> 1;
      const RequestKey request{"a", number};
      on.registerClient("a");
      on.openContext("o", number, "a");
      on.push("o", number, request, std::move(gradients));
      on.step("o", number, request);
      on.releaseContext("o", number, "a");
      if (&on == &reference) {
        answered.push_back(number);
        states.push_back(on.states("o").bytes);
      }
    }
  }

  /// A step that was answered, maybe by an earlier process, has its first answer and no effect.
  void repeatARequest() {
    if (answered.empty())
      return;
    const uint64_t number = answered[pick(answered.size())];
    ASSERT_EQ(server().step("o", number, {"a", number}), 1);
    ASSERT_TRUE(isSame()) << "repeated request";
  }

  static std::string contentOf(Server &one) {
    std::string result;
    for (const auto &parameter : one.parameters().all()) {
      result += parameter->name + std::to_string(parameter->version) + ":";
      result.append(parameter->tensor.data(), parameter->tensor.bytes());
    }
    return result + one.optimizer("o")->saveStates();
  }
  bool isSame() { return contentOf(server()) == contentOf(reference); }

  std::mt19937_64 random;
  std::vector<uint64_t> answered;  ///< the numbers of steps
  std::vector<std::string> states; ///< before the first step and after each
  SimulatedStorage storage;
  std::optional<Process> process;
  Server reference{{}, packedOnce, std::chrono::steady_clock::now};
};

} // namespace

/// After each loss of power, a change that was answered is there, and another is there whole or not
/// at all. No step is applied twice.
TEST(PowerLossTest, ChangesAreThereWholeOrNotAtAll) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    PowerLossRun(seed).run();
    if (HasFatalFailure())
      return;
  }
}
