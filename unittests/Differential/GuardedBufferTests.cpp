//===- GuardedBufferTests.cpp - The guard itself ----------------------------------------------===//

#include "GuardedBuffer.h"

#include "gtest/gtest.h"

using namespace updraft::differential;

namespace {

TEST(GuardedBuffer, NoticesWritesAroundIt) {
  for (size_t size : {0, 1, 64, 1003}) {
    for (size_t offset : {0, 2, 12, 56}) {
      GuardedBuffer buffer(size, offset);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, offset);
      std::memset(buffer.data(), 1, size);
      EXPECT_TRUE(buffer.isIntact());
      for (unsigned char *outside : {buffer.data() - 1, buffer.data() - 100, buffer.data() + size,
                                     buffer.data() + size + 100}) {
        const unsigned char before = *outside;
        *outside = 0;
        EXPECT_FALSE(buffer.isIntact());
        *outside = before;
        EXPECT_TRUE(buffer.isIntact());
      }
    }
  }
}

} // namespace
