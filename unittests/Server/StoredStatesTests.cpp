//===- StoredStatesTests.cpp - Restarts of servers with other storage types -------------------===//
// A server that was started again has the bits of one that never stopped.

#include "PackedRules.h"
#include "Requests.h"
#include "SimulatedDisk.h"
#include "Tensors.h"
#include "runtime/server/Server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace updraft::server;
using updraft::store::SimulatedDisk;
using updraft::store::SimulatedStorage;

namespace {

struct Stored {
  std::string name;
  upd_dtype param = UPD_F32, grad = UPD_F32;
  std::map<std::string, std::string> storage;
  std::string numerics;
  bool takesRows = true; ///< gradients of rows, too
};

std::ostream &operator<<(std::ostream &out, const Stored &stored) { return out << stored.name; }

class StoredStatesTest : public testing::TestWithParam<Stored> {
protected:
  StoredStatesTest() {
    updraft::worker::v1::CreateOptimizerRequest request =
        requestOf("o", "adam", {{{"w", "m"}, {{"lr", 0.125}}}, {{"v"}, {}}});
    request.set_seed(7);
    updraft::worker::v1::Rule &rule = *request.mutable_rule();
    rule.set_numerics(GetParam().numerics);
    rule.mutable_storage()->insert(GetParam().storage.begin(), GetParam().storage.end());
    const std::vector<Shape> shapes = {{300}, {40, 7}, {}};
    start();
    for (Server *one : {&*server, &reference}) {
      std::mt19937_64 random(1);
      one->registerClient("a");
      for (size_t i = 0; i < shapes.size(); ++i)
        one->sync(one->put(std::vector<std::string>{"w", "m", "v"}[i],
                           tensorOf(GetParam().param, shapes[i], random, *one)));
      one->createOptimizer(request);
    }
  }

  /// Starts the server again, after a loss of power that keeps only what was synced.
  void start() {
    server.reset();
    store.reset();
    storage.restart(random, 0);
    store.emplace(std::make_unique<SimulatedDisk>(storage), 1);
    server.emplace(Limits(), packedOnce, std::chrono::steady_clock::now, Durability::Step, &*store);
  }

  /// Both servers take a step with gradients of whole parameters and, if the rule allows, of rows.
  void step() {
    const uint64_t number = ++steps;
    for (Server *one : {&*server, &reference}) {
      std::mt19937_64 random(number);
      std::vector<Gradient> gradients;
      gradients.push_back({0, std::nullopt, tensorOf(GetParam().grad, {300}, random, *one)});
      if (GetParam().takesRows)
        gradients.push_back({1, std::vector<int64_t>{3, 39, static_cast<int64_t>(number)},
                             tensorOf(GetParam().grad, {3, 7}, random, *one)});
      else
        gradients.push_back({1, std::nullopt, tensorOf(GetParam().grad, {40, 7}, random, *one)});
      if (number % 2 == 0)
        gradients.push_back({2, std::nullopt, tensorOf(GetParam().grad, {}, random, *one)});
      const auto count = static_cast<int64_t>(gradients.size());
      one->openContext("o", number, "a");
      one->push("o", number, {"a", number}, std::move(gradients));
      EXPECT_EQ(one->step("o", number, {"a", number}), count);
      one->releaseContext("o", number, "a");
    }
  }

  void expectEqual() {
    for (const std::string name : {"w", "m", "v"})
      EXPECT_EQ(bytesAt(*server, name), bytesAt(reference, name)) << name;
    EXPECT_EQ(server->states("o").bytes, reference.states("o").bytes);
  }

  static std::string bytesAt(Server &of, const std::string &name) {
    const ParameterCopy copy = std::move(of.copies(of.parameters().find({name}))[0]);
    return {copy.tensor.data(), copy.tensor.bytes()};
  }

private:
  /// Values between -2 and 2, which all types have.
  static Tensor tensorOf(upd_dtype dtype, Shape shape, std::mt19937_64 &random, Server &of) {
    Tensor result(dtype, std::move(shape), of.budget(), "a test's tensor");
    for (int64_t i = 0; i < result.elements(); ++i) {
      const float value = (static_cast<float>(random() % 128) - 64) / 32;
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      if (dtype == UPD_F32) {
        std::memcpy(result.data() + 4 * i, &bits, 4);
        continue;
      }
      auto half = static_cast<uint16_t>(bits >> 16); // exact: the value has few bits
      if (dtype == UPD_F16) {
        const uint32_t exponent = bits >> 23 & 0xff;
        half = static_cast<uint16_t>((bits >> 16 & 0x8000) |
                                     (exponent == 0 ? 0 : (exponent - 112) << 10) |
                                     (bits >> 13 & 0x3ff));
      }
      std::memcpy(result.data() + 2 * i, &half, 2);
    }
    return result;
  }

  SimulatedStorage storage;
  std::mt19937_64 random{1};
  uint64_t steps = 0;

protected:
  std::optional<updraft::store::Store> store;
  std::optional<Server> server;
  Server reference{{}, packedOnce, std::chrono::steady_clock::now};
};

} // namespace

TEST_P(StoredStatesTest, ARestartChangesNoBit) {
  const std::string initial = bytesAt(*server, "w");
  for (int i = 0; i < 3; ++i)
    step();
  expectEqual();
  EXPECT_NE(bytesAt(*server, "w"), initial);
  start(); // from the journal alone
  expectEqual();
  step();
  expectEqual();
  server->takeSnapshot();
  start(); // from the snapshot alone
  expectEqual();
  step();
  expectEqual();
  start(); // from both
  step();
  expectEqual();
}

/// The journal has the file; replaying it gives the same codes and random numbers.
TEST_P(StoredStatesTest, WrittenStatesAreRestored) {
  for (int i = 0; i < 2; ++i)
    step();
  const std::string written = server->states("o").bytes;
  step();
  for (Server *one : {&*server, &reference})
    one->setStates("o", written);
  start();
  EXPECT_EQ(server->states("o").bytes, written);
  expectEqual();
  step();
  expectEqual();
}

/// Older workers took files of codes that don't name the codes' format.
TEST_P(StoredStatesTest, RecordedStatesNeedNoFormats) {
  step();
  const std::string written = server->states("o").bytes, key = "updraft.storage.";
  std::string older = written;
  for (size_t at = older.find(key); at != std::string::npos; at = older.find(key, at))
    older.replace(at, key.size(), "another.storage.");
  Recorder recorder;
  recorder.begin(store->journal());
  recorder.sync(recorder.loadStates("o", older));
  start();
  EXPECT_EQ(server->states("o").bytes, written);
}

INSTANTIATE_TEST_SUITE_P(
    Storages, StoredStatesTest,
    testing::Values(
        Stored{"f32", UPD_F32, UPD_F32, {}, ""}, Stored{"fast", UPD_F32, UPD_F32, {}, "fast"},
        Stored{"bf16", UPD_BF16, UPD_BF16, {{"param", "bf16"}, {"grad", "bf16"}}, ""},
        Stored{"f16", UPD_F16, UPD_F16, {{"param", "f16"}, {"grad", "f16"}, {"state", "f16"}}, ""},
        Stored{"codes", UPD_F32, UPD_F32, {{"state", "q8_companded"}}, "", false},
        Stored{"random", UPD_F32, UPD_F32, {{"state", "bf16_stochastic"}}, "", false},
        Stored{"randomParameters",
               UPD_BF16,
               UPD_F32,
               {{"param", "bf16_stochastic"}, {"state", "q8_companded"}},
               "fast",
               false}),
    testing::PrintToStringParamName());
