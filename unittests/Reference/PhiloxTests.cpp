//===- PhiloxTests.cpp - Random bits against published values ---------------------------------===//

#include "updraft/Reference/Philox.h"

#include "gtest/gtest.h"

#include <set>

using namespace updraft::reference;

namespace {

using Words = std::array<uint32_t, 4>;

// The known answers in the tests of Random123, the authors' own library.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, CountsElementStepTensorAndStream) {
  // digits of pi as above: element 0x85a308d3243f6a88, step 0x13198a2e, tensor and stream
  // 0x03707344
  EXPECT_EQ(randomBits(0x299f31d0a4093822, 0x13198a2e, 0x0370734, 4, 0x85a308d3243f6a88),
            0x94fdccebd16cfe09u);
  std::set<uint64_t> seen;
  for (uint64_t seed : {0u, 1u})
    for (uint64_t step : {1u, 2u})
      for (uint64_t tensor : {0u, 1u})
        for (uint64_t stream : {0u, 15u})
          for (uint64_t element : {uint64_t(0), uint64_t(1), uint64_t(1) << 32})
            seen.insert(randomBits(seed, step, tensor, stream, element));
  EXPECT_EQ(seen.size(), 48u);
}

} // namespace
