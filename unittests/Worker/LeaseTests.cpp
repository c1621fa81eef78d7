//===- LeaseTests.cpp - The leases of a client on its workers ---------------------------------===//

#include "runtime/client/Lease.h"

#include "NoMoreThreads.h"
#include "RunningWorker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace updraft;
using dist::Lease;
using testing::ElementsAre;
using testing::IsEmpty;
using worker::RunningWorker;

namespace {

constexpr size_t shortLease = 0, longLease = 1; // the workers' numbers

class LeaseTest : public testing::Test {
protected:
  static void waitForEndsOfLeases() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  }
  std::vector<std::string> ended() { return one.server.clients().ended(); }

  RunningWorker one, other{7, nullptr, 0, std::chrono::seconds(60)};
  dist::Workers workers{{{one.address(), other.address()}}};
  Lease lease{workers, "ours"};
};

} // namespace

TEST_F(LeaseTest, IsRenewedForTheShortestWhenALongerOneFollows) {
  lease.hold({shortLease});
  lease.hold({longLease});
  waitForEndsOfLeases();
  EXPECT_THAT(ended(), IsEmpty());
}

TEST_F(LeaseTest, IsRenewedForTheShortestWhenItFollows) {
  lease.hold({longLease});
  std::this_thread::sleep_for(std::chrono::milliseconds(100)); // the thread waits
  lease.hold({shortLease});
  waitForEndsOfLeases();
  EXPECT_THAT(ended(), IsEmpty());
}

TEST_F(LeaseTest, IsRenewedWhenItsThreadStartsLater) {
  {
    const NoMoreThreads limit;
    EXPECT_THROW(lease.hold({shortLease}), std::system_error);
  }
  lease.hold({shortLease});
  waitForEndsOfLeases();
  EXPECT_THAT(ended(), IsEmpty());
}

TEST_F(LeaseTest, IsDestroyedInAForkWithoutItsThread) {
  auto forked = std::make_unique<Lease>(workers, "forked");
  forked->hold({shortLease});
  std::this_thread::sleep_for(std::chrono::milliseconds(100)); // the thread waits
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(10);
    try {
      forked->hold({longLease});
    } catch (const dist::WorkersFailed &) {
      forked.reset();
      ::_exit(0);
    }
    ::_exit(1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(LeaseTest, ANameIsRenewedWhileItIsHeld) {
  Lease::Name first = lease.hold({shortLease, longLease});
  other.server.clients().forget(*first);
  lease.renew();
  const Lease::Name second = lease.hold({longLease});
  EXPECT_EQ(*second, "ours.2");
  waitForEndsOfLeases();
  EXPECT_THAT(ended(), IsEmpty());
  EXPECT_FALSE(other.server.clients().renew("ours"));
  first.reset();
  waitForEndsOfLeases();
  EXPECT_THAT(ended(), ElementsAre("ours"));
}
