//===- UpkeepTests.cpp - Work between requests ------------------------------------------------===//

#include "tools/updraft-worker/Upkeep.h"

#include "tools/updraft-worker/Log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace updraft::worker;

static std::vector<std::string> logged;

/// Replaces that of Log.cpp, which the tests don't link.
void updraft::worker::log(Severity severity, std::string_view message,
                          const std::vector<std::pair<std::string_view, std::string>> &values) {
  logged.push_back(std::string(severity == Severity::Error ? "error: " : "") +
                   std::string(message) + ": " + values.at(0).second);
}

TEST(UpkeepTest, AnExceptionIsLoggedAndTheWorkIsTriedAgain) {
  logged.clear();
  int calls = 0;
  std::promise<void> again;
  Upkeep upkeep(std::chrono::milliseconds(1), [&] {
    if (++calls == 1)
      throw std::bad_alloc();
    if (calls == 2)
      again.set_value();
  });
  EXPECT_EQ(again.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  upkeep.stop();
  EXPECT_EQ(logged,
            std::vector<std::string>{"error: upkeep failed; it is tried again: std::bad_alloc"});
}
