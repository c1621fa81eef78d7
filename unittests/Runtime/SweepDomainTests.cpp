//===- SweepDomainTests.cpp - The parts of a sweep
//---------------------------------------------===//

#include "runtime/cpu/SweepDomain.h"

#include <gtest/gtest.h>

using namespace updraft::runtime;

// Otherwise threads with one part more than others would make the sweep longer.
TEST(SweepDomain, GivesEachThreadEquallyManyParts) {
  upd_pool pool{};
  pool.thread_count = [](void *self) { return *static_cast<int32_t *>(self); };
  for (int32_t threads : {1, 2, 3, 8, 64}) {
    pool.pool = &threads;
    for (int64_t elements = 1000; elements < 40'000'000; elements += elements / 7) {
      SweepDomain domain({});
      domain.add(TensorShape{1, 1, elements});
      const size_t parts = domain.parts(0, 1, pool).parts();
      const size_t used = SweepDomain::threadsFor(domain.costOf(0), pool);
      EXPECT_EQ(parts % used, 0u) << elements << " elements, " << used << " threads";
      EXPECT_LE(parts, used * SweepDomain::partsPerThread);
      EXPECT_TRUE(used == 1 || domain.costOf(0) >= int64_t(parts) * SweepDomain::threadCost);
    }
  }
}
