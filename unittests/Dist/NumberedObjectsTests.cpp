//===- NumberedObjectsTests.cpp - Objects by numbers that clients choose ----------------------===//

#include "runtime/dist/NumberedObjects.h"

#include <gtest/gtest.h>

#include <stdexcept>

using updraft::dist::NumberedObjects;
using updraft::dist::ReleasedNumbers;
using Numbers = NumberedObjects<int>;
using Outcome = Numbers::Outcome;

static std::shared_ptr<int> make() { return std::make_shared<int>(7); }

TEST(NumberedObjects, MakesGivesAndReleases) {
  Numbers objects;
  EXPECT_EQ(objects.get(1), nullptr);
  EXPECT_EQ(objects.add(1, make), Outcome::Made);
  EXPECT_EQ(objects.add(1, make), Outcome::Known);
  std::shared_ptr<int> used = objects.get(1);
  ASSERT_NE(used, nullptr);
  objects.release(1);
  EXPECT_EQ(objects.get(1), nullptr);
  EXPECT_EQ(used.use_count(), 1);
}

TEST(NumberedObjects, MakesNothingThatWasReleasedBefore) {
  Numbers objects;
  objects.release(1);
  EXPECT_EQ(objects.add(1, []() -> std::shared_ptr<int> { throw std::logic_error("made"); }),
            Outcome::Released);
  EXPECT_EQ(objects.get(1), nullptr);
  // Only once: the request has arrived.
  EXPECT_EQ(objects.add(1, make), Outcome::Made);
}

TEST(NumberedObjects, DropsAnObjectReleasedDuringItsCreation) {
  Numbers objects;
  std::weak_ptr<int> made;
  EXPECT_EQ(objects.add(1,
                        [&] {
                          EXPECT_EQ(objects.get(1), nullptr);
                          EXPECT_EQ(objects.add(1, make), Outcome::Known);
                          objects.release(1);
                          std::shared_ptr<int> object = make();
                          made = object;
                          return object;
                        }),
            Outcome::Released);
  EXPECT_EQ(objects.get(1), nullptr);
  EXPECT_TRUE(made.expired());
}

TEST(NumberedObjects, AddsNothingThatCannotBeMade) {
  Numbers objects;
  EXPECT_THROW(objects.add(1, []() -> std::shared_ptr<int> { throw std::logic_error("no"); }),
               std::logic_error);
  EXPECT_EQ(objects.add(1, make), Outcome::Made);
}

TEST(ReleasedNumbers, RemembersAFixedNumber) {
  ReleasedNumbers released;
  constexpr auto capacity = static_cast<int64_t>(ReleasedNumbers::capacity);
  for (int64_t number = 0; number <= capacity; ++number) {
    released.add(number);
    released.add(number);
  }
  EXPECT_EQ(released.size(), ReleasedNumbers::capacity);
  EXPECT_FALSE(released.take(0));
  EXPECT_TRUE(released.take(1));
  EXPECT_TRUE(released.take(capacity));
  EXPECT_FALSE(released.take(capacity));
  // Numbers that were taken don't increase the capacity.
  for (int64_t number = 0; number < 3 * capacity; ++number) {
    released.add(-number);
    released.take(-number);
    released.add(number);
    EXPECT_LE(released.size(), ReleasedNumbers::capacity);
  }
}
