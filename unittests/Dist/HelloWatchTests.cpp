//===- HelloWatchTests.cpp - Connections that haven't said hello yet --------------------------===//

#include "runtime/dist/HelloWatch.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <future>
#include <poll.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace updraft::dist;

static constexpr std::string_view hello("\5\0\0\0\0\0\0\0\xb8\1\xb9\1\x2a", 13);
static constexpr std::chrono::seconds soon{30};

namespace {
/// Two ends of a connection, of which one is watched. The watch has the only descriptor of the
/// watched end, so the other end is open as long as the watch keeps it.
class Watched {
public:
  Watched() {
    std::array<int, 2> ends;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    own = ends[0];
    // Dropping the callback breaks its promise.
    auto promise = std::make_shared<std::promise<void>>();
    greeted = promise->get_future();
    HelloWatch::process().add(ends[1], HelloTo::Listener, [promise] { promise->set_value(); });
  }
  ~Watched() { hangUp(); }

  void say(std::string_view text) {
    EXPECT_EQ(send(own, text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
  }
  void hangUp() {
    if (own >= 0)
      close(own);
    own = -1;
  }
  bool isGreeted() {
    EXPECT_EQ(greeted.wait_for(soon), std::future_status::ready);
    try {
      greeted.get();
      return true;
    } catch (const std::future_error &) {
      return false;
    }
  }
  /// Whether the watch has closed its end.
  bool isClosed() const {
    pollfd one{own, POLLIN, 0};
    return poll(&one, 1, std::chrono::milliseconds(soon).count()) == 1 && (one.revents & POLLHUP);
  }

private:
  int own;
  std::future<void> greeted;
};
} // namespace

TEST(HelloWatch, TellsOfAHello) {
  Watched one;
  one.say(hello);
  EXPECT_TRUE(one.isGreeted());
  EXPECT_TRUE(one.isClosed());
}

TEST(HelloWatch, TellsOfOneThatComesInParts) {
  Watched one;
  for (char c : hello)
    one.say({&c, 1});
  EXPECT_TRUE(one.isGreeted());
}

TEST(HelloWatch, DropsAnythingElse) {
  Watched one;
  one.say("GET / HTTP/1.0\r\n\r\n");
  EXPECT_FALSE(one.isGreeted());
  EXPECT_TRUE(one.isClosed());
}

TEST(HelloWatch, DropsClosedConnections) {
  Watched one, other;
  one.hangUp();
  EXPECT_FALSE(one.isGreeted());
  other.say(hello.substr(0, 9));
  other.hangUp();
  EXPECT_FALSE(other.isGreeted());
}

TEST(HelloWatch, OneThatIsSilentHoldsUpNoOther) {
  Watched silent, partial;
  partial.say(hello.substr(0, 9));
  for (int i = 0; i < 100; ++i) {
    Watched one;
    one.say(hello);
    EXPECT_TRUE(one.isGreeted());
  }
  partial.say(hello.substr(9));
  EXPECT_TRUE(partial.isGreeted());
  silent.say(hello);
  EXPECT_TRUE(silent.isGreeted());
}

/// The number that the next descriptor will get.
static int nextDescriptor() {
  const int next = dup(0);
  close(next);
  return next;
}

static std::string failure() {
  try {
    new HelloWatch;
    return "made";
  } catch (const std::runtime_error &error) {
    return error.what();
  }
}

TEST(HelloWatch, FailsWithoutADescriptor) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{static_cast<rlim_t>(nextDescriptor()), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string found = failure();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(found, "cannot watch new connections: Too many open files; raise the limit on open "
                   "files (`ulimit -n`)");
}

TEST(HelloWatch, FailsWithoutAThread) {
  const int next = nextDescriptor();
  pthread_attr_t before, tooLarge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&tooLarge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&tooLarge, size_t(1) << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&tooLarge), 0);
  const std::string found = failure();
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&before);
  pthread_attr_destroy(&tooLarge);
  EXPECT_EQ(found, "cannot watch new connections: Resource temporarily unavailable; raise the "
                   "limits on threads (`ulimit -u`) and memory");
  EXPECT_EQ(nextDescriptor(), next);
  sigset_t blocked;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &blocked), 0);
  EXPECT_FALSE(sigismember(&blocked, SIGTERM));
}

TEST(HelloWatch, GivesUpTheFirstOfTooMany) {
  std::vector<Watched> many(1100);
  EXPECT_FALSE(many.front().isGreeted());
  many.back().say(hello);
  EXPECT_TRUE(many.back().isGreeted());
}
