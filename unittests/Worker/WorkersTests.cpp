//===- WorkersTests.cpp - Calls of a client to its workers ------------------------------------===//

#include "runtime/client/Workers.h"

#include "NoMoreThreads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

using namespace updraft::dist;
using std::chrono::steady_clock;
using updraft::NoMoreThreads;

namespace {

thread_local int hoursOfJump = 0; // of this thread's system clock

/// Nothing listens at the address.
Workers unreachable(size_t count, std::chrono::milliseconds timeout) {
  std::vector<std::string> addresses;
  for (size_t i = 0; i < count; ++i)
    addresses.push_back("127.0.0.1:" + std::to_string(i + 1));
  return Workers({std::move(addresses), "", timeout});
}

grpc::Status unavailable() { return {grpc::StatusCode::UNAVAILABLE, ""}; }

} // namespace

/// Replaces the function of the standard library in this program.
std::chrono::system_clock::time_point std::chrono::system_clock::now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return time_point(seconds(now.tv_sec) + nanoseconds(now.tv_nsec) + hours(hoursOfJump));
}

class ClockJumpTest : public testing::TestWithParam<int> {
protected:
  ~ClockJumpTest() override { hoursOfJump = 0; }
};

TEST_P(ClockJumpTest, DoesNotChangeHowLongCallsAreRepeated) {
  Workers workers = unreachable(1, std::chrono::seconds(1));
  const auto begin = steady_clock::now();
  const auto elapsed = [&] { return steady_clock::now() - begin; };
  int calls = 0;
  const auto failures = workers.failuresOfEach({0}, [&](size_t) {
    return [&](proto::Worker::Stub &, grpc::ClientContext &) {
      hoursOfJump = GetParam();
      ++calls;
      return elapsed() < std::chrono::seconds(5) ? unavailable() : grpc::Status::OK;
    };
  });
  EXPECT_EQ(failures.size(), 1u);
  EXPECT_GT(calls, 1);
  EXPECT_LT(elapsed(), std::chrono::seconds(5));
}

INSTANTIATE_TEST_SUITE_P(Hours, ClockJumpTest, testing::Values(-1, 1));

TEST(WorkersTest, CallsAllWorkersWithoutMoreThreads) {
  Workers workers = unreachable(3, std::chrono::seconds(1));
  std::vector<size_t> called;
  const NoMoreThreads limit;
  const auto failures = workers.failuresOfEach(workers.all(), [&](size_t worker) {
    return [&, worker](proto::Worker::Stub &, grpc::ClientContext &) {
      called.push_back(worker); // always on this thread
      return worker == 1 ? grpc::Status(grpc::StatusCode::INTERNAL, "no") : grpc::Status::OK;
    };
  });
  EXPECT_EQ(called, (std::vector<size_t>{0, 1, 2}));
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].message, "no");
}
