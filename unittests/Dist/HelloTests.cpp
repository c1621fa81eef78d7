//===- HelloTests.cpp - The first message on a connection -------------------------------------===//

#include "runtime/dist/Hello.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

using namespace updraft::dist;
using Bytes = std::vector<uint8_t>;

/// Copies the bytes to separate memory, so that sanitizers detect reads past the end.
static Hello check(const Bytes &bytes, HelloTo to = HelloTo::Listener) {
  const Bytes own(bytes.begin(), bytes.end());
  return checkHello(own, to);
}

static Bytes framed(const Bytes &message) {
  Bytes bytes(8);
  bytes[0] = static_cast<uint8_t>(message.size());
  bytes[1] = static_cast<uint8_t>(message.size() >> 8);
  bytes.insert(bytes.end(), message.begin(), message.end());
  return bytes;
}

/// The message of a member named `ps`.
static const Bytes spontaneous = framed({0xb8, 0, 0xb9, 1, 0xbd, 2, 'p', 's'});
static const Bytes requested = framed({0xb8, 1, 0xb9, 1, 42});
static const Bytes requestedLarge =
    framed({0xb8, 1, 0xb9, 1, 0x83, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});

TEST(Hello, TakesTheFirstMessages) {
  EXPECT_EQ(check(spontaneous), Hello::Valid);
  EXPECT_EQ(check(requested), Hello::Valid);
  EXPECT_EQ(check(requestedLarge), Hello::Valid);
  EXPECT_EQ(check(framed({0xb8, 0, 0xb9, 1, 0xbd, 0})), Hello::Valid);
  Bytes longest{0xb8, 0, 0xb9, 1, 0xbd, 0x80, 128};
  longest.resize(longest.size() + 128, 'a');
  EXPECT_EQ(check(framed(longest)), Hello::Valid);
  EXPECT_EQ(check(requested, HelloTo::Lane), Hello::Valid);
  // The other message isn't valid for a lane.
  EXPECT_EQ(check(spontaneous, HelloTo::Lane), Hello::Wrong);
}

TEST(Hello, LooksAtNothingBehindIt) {
  Bytes more = spontaneous;
  more.resize(more.size() + 1000, 0xff);
  EXPECT_EQ(check(more), Hello::Valid);
}

TEST(Hello, WaitsForTheRest) {
  for (const Bytes &hello : {spontaneous, requested, requestedLarge})
    for (size_t size = 0; size < hello.size(); ++size)
      EXPECT_EQ(check({hello.begin(), hello.begin() + static_cast<ptrdiff_t>(size)}),
                Hello::Incomplete)
          << size;
}

TEST(Hello, RefusesTheFirstWordsOfOthers) {
  for (const std::string &text :
       {std::string("GET / HTTP/1.0\r\n\r\n"), std::string("SSH-2.0-OpenSSH_9.2"),
        std::string("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 11), std::string(16, '\xff')})
    EXPECT_EQ(check({text.begin(), text.end()}), Hello::Wrong) << text;
  EXPECT_EQ(check(Bytes(8)), Hello::Wrong); // the length is missing
}

TEST(Hello, RefusesOtherMessages) {
  for (const Bytes &message :
       {Bytes{0xb8, 2, 0xb9, 1, 42}, Bytes{0xb8, 1, 0xb9, 2, 42}, Bytes{0xb8, 1, 0xb9, 1, 0xbe},
        Bytes{0xb8, 1, 0xb9, 1, 0x84, 42}, Bytes{0xb8, 1, 0xb9, 1, 0x81, 42},
        Bytes{0xb8, 1, 0xb9, 1, 42, 0}, Bytes{0xb8, 1, 0xb9, 1}, Bytes{0xb8}, Bytes{0xb9, 1, 42},
        Bytes{0xb8, 0, 0xb9, 1, 0xbd, 3, 'p', 's'}, Bytes{0xb8, 0, 0xb9, 1, 0xbd, 1, 'p', 's'},
        Bytes{0xb8, 0, 0xb9, 1, 0xbc, 2, 'p', 's'},
        Bytes{0xb8, 0, 0xb9, 1, 0xbd, 0x83, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}})
    EXPECT_EQ(check(framed(message)), Hello::Wrong);
  Bytes large(longestHello - 8 + 1, 0);
  EXPECT_EQ(check(framed(large)), Hello::Wrong);
}

TEST(Hello, TakesAnyBytes) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200'000; ++trial) {
    Bytes bytes = trial % 2 ? spontaneous : requestedLarge;
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    bytes.resize(random() % (bytes.size() + 4));
    check(bytes);
    check(bytes, HelloTo::Lane);
  }
}
