//===- ClientTableTests.cpp - Leases, and answers to repeated requests ------------------------===//

#include "Tensors.h"
#include "runtime/server/ClientTable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

using namespace updraft::server;
using namespace std::chrono_literals;

namespace {

class ClientTableTest : public testing::Test {
protected:
  ClientTableTest() {
    for (const char *client : {"a", "b"})
      add(client);
  }
  void add(const std::string &client) {
    table.add(client, [&] { records.push_back("+" + client); });
  }
  int64_t once(uint64_t sequence, int64_t value = 0, const std::string &client = "a") {
    return table.once({client, sequence}, [&] {
      ++calls;
      return value;
    });
  }

  std::chrono::steady_clock::time_point now{};
  Budget memory{10'000};
  ClientTable table{{60s, 600s, 3, 9, 4, 2, 1000}, memory, [this] { return now; }};
  std::vector<std::string> records;
  int calls = 0;
};

} // namespace

TEST_F(ClientTableTest, ARepeatedRequestGetsTheFirstAnswer) {
  EXPECT_EQ(once(1, 5), 5);
  EXPECT_EQ(once(1, 6), 5);
  EXPECT_EQ(once(2, 7), 7);
  EXPECT_EQ(once(1, 8, "b"), 8);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(table.answerCount(), 3u);
}

TEST_F(ClientTableTest, AFailedRequestCanBeRepeated) {
  EXPECT_THROW(table.once({"a", 1}, []() -> int64_t { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(once(1, 5), 5);
}

TEST_F(ClientTableTest, ForgetsOldAnswersAndSaysSo) {
  for (uint64_t sequence : {1, 2, 3})
    once(sequence);
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { once(4); }),
            "the client has sent 3 requests in the last 600 s, and their answers must be kept; "
            "acknowledge them (RequestId.answered)");
  now += 600s;
  EXPECT_EQ(once(4, 9), 9);
  EXPECT_EQ(refusalOf(Reason::OutcomeUnknown, [&] { once(1); }),
            "the outcome of request 1 of client `a` is unknown: its answer has been forgotten; it "
            "is not carried out again");
  EXPECT_EQ(once(2, 10), 0);
  EXPECT_EQ(calls, 4);
}

TEST_F(ClientTableTest, AllAnswersAreLimitedToo) {
  for (const char *client : {"c", "d"})
    add(client);
  // 9 answers for 4 clients: each may have 2, and more while others have fewer.
  for (const char *client : {"a", "b", "c"})
    for (uint64_t sequence : {1, 2, 3})
      once(sequence, 0, client);
  EXPECT_EQ(once(1, 5, "d"), 5);
  EXPECT_EQ(once(2, 6, "d"), 6);
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { once(3, 0, "d"); }),
            "the client has sent 2 requests in the last 600 s, and their answers must be kept; "
            "acknowledge them (RequestId.answered)");
  table.acknowledge("a", 4);
  EXPECT_EQ(once(3, 7, "d"), 7);
}

TEST_F(ClientTableTest, FreesAnswersThatAreOldEnough) {
  once(1);
  now += 599s;
  once(2);
  table.forgetOldAnswers();
  EXPECT_EQ(table.answerCount(), 2u);
  now += 1s;
  table.forgetOldAnswers();
  EXPECT_EQ(table.answerCount(), 1u);
  EXPECT_THROW(once(1), Refusal);
  EXPECT_EQ(once(2, 10), 0);
}

TEST_F(ClientTableTest, ForgetsAcknowledgedAnswers) {
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) {
    table.acknowledge("a", sequence);
    EXPECT_EQ(once(sequence, 5), 5);
    EXPECT_EQ(once(sequence, 6), 5); // repeated
  }
  EXPECT_EQ(table.answerCount(), 1u);
  // A late request is not carried out, whether it was seen before or not.
  table.acknowledge("a", 200);
  for (uint64_t late : {100, 150})
    EXPECT_EQ(refusalOf(Reason::OutcomeUnknown, [&] { once(late); }),
              "the outcome of request " + std::to_string(late) +
                  " of client `a` is unknown: its answer has been forgotten; it is not carried out "
                  "again");
  EXPECT_TRUE(table.isForgotten({"a", 199}));
  EXPECT_FALSE(table.isForgotten({"a", 200}));
  table.acknowledge("a", 50); // a late message
  EXPECT_TRUE(table.isForgotten({"a", 199}));
  table.acknowledge("stranger", 5);
  EXPECT_EQ(calls, 100);
}

TEST_F(ClientTableTest, KeepsTheAnswerToARequestUnderWay) {
  table.once({"a", 1}, [&] {
    table.acknowledge("a", 10); // the client has given up
    return 7;
  });
  EXPECT_FALSE(table.isForgotten({"a", 1}));
  EXPECT_EQ(once(1), 7);
  table.acknowledge("a", 10);
  EXPECT_TRUE(table.isForgotten({"a", 9}));
}

TEST_F(ClientTableTest, RestoredAnswersLeaveRoomForOthers) {
  for (uint64_t sequence : {1, 2, 3})
    table.restore({"a", sequence}, 7);
  for (uint64_t sequence : {4, 5, 6})
    EXPECT_EQ(once(sequence, 8), 8);
  EXPECT_EQ(once(1, 9), 7);
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { once(7); }),
            "the client has sent 3 requests in the last 600 s, and their answers must be kept; "
            "acknowledge them (RequestId.answered)");
  now += 600s;
  EXPECT_EQ(once(7, 9), 9);
  EXPECT_EQ(table.answerCount(), 3u);
}

TEST_F(ClientTableTest, WaitsForTheSameRequest) {
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

TEST_F(ClientTableTest, RegistersAClientOnce) {
  add("a");
  EXPECT_EQ(records, (std::vector<std::string>{"+a", "+b"}));
  add("c");
  add("d");
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { add("e"); }),
            "the worker has 4 clients, and takes no more; it forgets those that have ended after "
            "600 s");
  EXPECT_EQ(refusalOf(Reason::InvalidArgument, [&] { add(""); }),
            "the name of a client has from 1 to 256 bytes, and no control characters");
  const std::string text =
      "client `e` is not registered: it is new, or the worker has forgotten it; the outcome of its "
      "earlier requests is unknown; register under a new name";
  EXPECT_EQ(refusalOf(Reason::ClientUnknown, [&] { once(1, 0, "e"); }), text);
  EXPECT_EQ(refusalOf(Reason::ClientUnknown, [&] { ClientTable::Request(table, "e"); }), text);
  EXPECT_FALSE(table.renew("e"));
  EXPECT_TRUE(table.renew("d"));
}

TEST_F(ClientTableTest, ALeaseEndsWithoutRequests) {
  now += 59s;
  EXPECT_TRUE(table.ended().empty());
  table.renew("a");
  now += 1s;
  EXPECT_EQ(table.ended(), std::vector<std::string>{"b"});
  {
    const ClientTable::Request request(table, "b");
    now += 1000s;
    EXPECT_EQ(table.ended(), std::vector<std::string>{"a"});
  }
  EXPECT_EQ(table.ended(), std::vector<std::string>{"a"});
}

TEST_F(ClientTableTest, ForgetsAClientWhenItsAnswersAreOld) {
  const auto forget = [&] {
    table.forgetEnded(table.forgettable(), [&](const auto &name) { records.push_back(name); });
  };
  records.clear();
  now += 590s;
  once(1);
  now += 20s;
  forget();
  EXPECT_EQ(records, std::vector<std::string>{"b"});
  EXPECT_EQ(once(1, 9), 0); // the first answer
  now += 600s;
  forget();
  EXPECT_EQ(records, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(table.clientCount(), 0u);
}

TEST_F(ClientTableTest, LimitsRequestsAndMemory) {
  const ClientTable::Request first(table, "a"), second(table, "a"), other(table, "b");
  EXPECT_EQ(refusalOf(Reason::ResourceExhausted, [&] { ClientTable::Request(table, "a"); }),
            "client `a` has 2 requests under way; wait for their answers");
  const Budget::Reservation most = first.budget().reserve(900, "a gradient");
  EXPECT_EQ(
      refusalOf(Reason::ResourceExhausted, [&] { second.budget().reserve(101, "a gradient"); }),
      "a gradient needs 101 bytes; 100 of client `a`'s 1000 bytes are free");
  EXPECT_EQ(memory.used(), 900u);
  const Budget::Reservation rest = memory.reserve(9000, "a parameter");
  EXPECT_EQ(
      refusalOf(Reason::ResourceExhausted, [&] { other.budget().reserve(101, "a gradient"); }),
      "a gradient needs 101 bytes; 100 of the worker's 10000 bytes are free");
  EXPECT_EQ(other.budget().used(), 0u);
}
