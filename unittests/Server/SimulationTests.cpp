//===- SimulationTests.cpp - Servers under a seeded simulator ---------------------------------===//

#include "SimulatedCluster.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>

using namespace updraft::server;

/// How often a simulation is repeated: more often in `tools/test --long=grpc`.
static size_t countOf(const char *variable, size_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoul(text, nullptr, 10) : otherwise;
}

TEST(SimulationTest, AnUnreliableNetworkLosesAndDoublesNoStep) {
  SimulatedCluster cluster(1, {.snapshot = 0.001});
  const size_t steps = countOf("UPDRAFT_SIMULATED_STEPS", 20'000);
  EXPECT_EQ(cluster.run(steps), "");
  EXPECT_GE(cluster.applied, steps);
  EXPECT_GE(cluster.aborted, steps / 100);
  EXPECT_GE(cluster.partitions, steps / 1000);
  EXPECT_GE(cluster.unreachable, steps / 20);
}

TEST(SimulationTest, PowerLossesLeaveStepsWholeOnAllWorkersOrOnNone) {
  const size_t seeds = countOf("UPDRAFT_SIMULATED_SEEDS", 300);
  const size_t first = countOf("UPDRAFT_SIMULATED_SEED", 1);
  size_t restarts = 0, partitions = 0;
  for (size_t seed = first; seed < first + seeds; ++seed) {
    SimulatedCluster cluster(seed, {.powerLoss = 0.02,
                                    .fullDisk = seed % 4 == 0 ? 0.01 : 0,
                                    .snapshot = 0.02,
                                    .partition = seed % 2 == 0 ? 0.002 : 0});
    ASSERT_EQ(cluster.run(30), "") << "UPDRAFT_SIMULATED_SEED=" << seed;
    restarts += cluster.restarts;
    partitions += cluster.partitions;
  }
  EXPECT_GE(restarts, seeds);
  EXPECT_GE(partitions, seeds / 4);
}

TEST(SimulationTest, AChangedBitIsFoundOrCostsTheLastStep) {
  size_t refused = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimulatedCluster cluster(seed, {.snapshot = 0.02});
    ASSERT_EQ(cluster.run(20 * seed), "") << seed;
    ASSERT_EQ(cluster.rot(100), "") << seed;
    refused += cluster.refused;
  }
  EXPECT_GE(refused, 200u); // most other bits are in parts of the catalog that SQLite doesn't use
}

TEST(SimulationTest, ASeedReplaysExactly) {
  const auto endOf = [](uint64_t seed, const Disturbances &disturbances) {
    SimulatedCluster cluster(seed, disturbances);
    EXPECT_EQ(cluster.run(30), "");
    const std::hash<std::string> hash;
    return std::tuple(cluster.events, cluster.applied, cluster.restarts, cluster.aborted,
                      cluster.unreachable, hash(cluster.values()), hash(cluster.files()));
  };
  for (uint64_t seed = 1; seed <= 5; ++seed)
    for (const double powerLoss : {0.0, 0.02}) {
      const Disturbances some{
          .powerLoss = powerLoss, .fullDisk = powerLoss / 2, .snapshot = 0.02, .partition = 0.002};
      EXPECT_EQ(endOf(seed, some), endOf(seed, some)) << seed << ", " << powerLoss;
    }
}
