//===- RequestTableTests.cpp - The answers to repeated requests -------------------------------===//

#include "Tensors.h"
#include "runtime/server/RequestTable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

using namespace updraft::server;
using namespace std::chrono_literals;

namespace {

class RequestTableTest : public testing::Test {
protected:
  int64_t once(uint64_t sequence, int64_t value = 0, const std::string &client = "a") {
    return table.once({client, sequence}, [&] {
      ++calls;
      return value;
    });
  }

  std::chrono::steady_clock::time_point now{};
  RequestTable table{600s, 3, [this] { return now; }};
  int calls = 0;
};

} // namespace

TEST_F(RequestTableTest, ARepeatedRequestGetsTheFirstAnswer) {
  EXPECT_EQ(once(1, 5), 5);
  EXPECT_EQ(once(1, 6), 5);
  EXPECT_EQ(once(2, 7), 7);
  EXPECT_EQ(once(1, 8, "b"), 8);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(table.size(), 3u);
}

TEST_F(RequestTableTest, AFailedRequestCanBeRepeated) {
  EXPECT_THROW(table.once({"a", 1}, []() -> int64_t { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(once(1, 5), 5);
}

TEST_F(RequestTableTest, ForgetsOldAnswersAndSaysSo) {
  for (uint64_t sequence : {1, 2, 3})
    once(sequence);
  EXPECT_EQ(
      refusalOf(Reason::ResourceExhausted, [&] { once(4); }),
      "the client has sent 3 requests in the last 600 s, and their answers must be kept; send "
      "fewer, or raise the limit");
  now += 600s;
  EXPECT_EQ(once(4, 9), 9);
  EXPECT_EQ(refusalOf(Reason::Aborted, [&] { once(1); }),
            "the outcome of request 1 of client `a` is unknown: its answer has been forgotten; it "
            "is not carried out again");
  EXPECT_EQ(once(2, 10), 0);
  EXPECT_EQ(calls, 4);
}

TEST_F(RequestTableTest, WaitsForTheSameRequest) {
  std::promise<void> begun, finish;
  std::atomic<int> carriedOut = 0;
  const auto carryOut = [&]() -> int64_t {
    ++carriedOut;
    begun.set_value();
    finish.get_future().wait();
    return 5;
  };
  auto first = std::async(std::launch::async, [&] { return table.once({"a", 1}, carryOut); });
  begun.get_future().wait();
  auto second = std::async(std::launch::async, [&] { return once(1, 6); });
  EXPECT_EQ(once(2, 7), 7); // others don't wait
  EXPECT_EQ(second.wait_for(20ms), std::future_status::timeout);
  finish.set_value();
  EXPECT_EQ(first.get(), 5);
  EXPECT_EQ(second.get(), 5);
  EXPECT_EQ(carriedOut, 1);
}
