//===- TimelineTests.cpp - Recording spans of time --------------------------------------------===//

#include "runtime/timeline/Recorder.h"
#include "runtime/timeline/TraceFile.h"
#include "runtime/timeline/Variable.h"
#include "updraft-c/timeline.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace updraft::timeline;
using nlohmann::json;

namespace {
class Timeline : public testing::Test {
protected:
  std::string path = testing::TempDir() + "timeline-" + std::to_string(getpid()) + ".json";

  ~Timeline() override {
    upd_timeline_stop(nullptr); // of a test that failed
    std::filesystem::remove(path);
  }

  /// Stops the recording, and returns the content of its file.
  json written() {
    EXPECT_EQ(upd_timeline_stop(path.c_str()), UPD_OK) << upd_last_error();
    std::ifstream file(path);
    return json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  }
};

std::vector<json> eventsOf(const json &file, const char *phase) {
  std::vector<json> found;
  for (const json &event : file["traceEvents"])
    if (event["ph"] == phase)
      found.push_back(event);
  return found;
}
std::vector<json> spansOf(const json &file) { return eventsOf(file, "X"); }
} // namespace

TEST_F(Timeline, NothingIsDescribedWhileNoneIsRecorded) {
  bool isDescribed = false;
  {
    const Span span("test", [&](Event &) { isDescribed = true; });
  }
  EXPECT_FALSE(isDescribed);
  EXPECT_EQ(now(), 0);
  EXPECT_EQ(upd_timeline_now(), 0);
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  EXPECT_TRUE(spansOf(written()).empty());
}

TEST_F(Timeline, SpansHaveNamesNumbersAndTimes) {
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  const int64_t before = now();
  {
    const Span span("sweep", [&](Event &event) {
      event.name("adamw", "_sweep", 1);
      event.number("elements", 1000);
      event.number("tensors", -2);
      event.number("ignored", 3);
    });
  }
  const int64_t after = now();
  const std::vector<json> spans = spansOf(written());
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["name"], "adamw_sweep1");
  EXPECT_EQ(spans[0]["cat"], "sweep");
  EXPECT_EQ(spans[0]["pid"], getpid());
  EXPECT_EQ(spans[0]["tid"], gettid());
  EXPECT_EQ(spans[0]["args"], json({{"elements", 1000}, {"tensors", -2}}));
  const double begin = spans[0]["ts"], time = spans[0]["dur"];
  EXPECT_GE(begin, static_cast<double>(before) / 1000 - 0.01);
  EXPECT_GE(time, 0);
  EXPECT_LE(begin + time, static_cast<double>(after) / 1000 + 0.01);
}

TEST_F(Timeline, ASpanComesBeforeThoseThatItContains) {
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  {
    const Span outer("test", "outer");
    {
      const Span inner("test", "first");
    }
    {
      const Span inner("test", "second");
    }
  }
  const std::vector<json> spans = spansOf(written());
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0]["name"], "outer");
  EXPECT_EQ(spans[1]["name"], "first");
  EXPECT_EQ(spans[2]["name"], "second");
}

TEST_F(Timeline, EachThreadHasItsName) {
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  int number = 0;
  std::thread([&] {
    number = gettid();
    pthread_setname_np(pthread_self(), "tester");
    const Span span("test", "elsewhere");
  }).join();
  const json file = written();
  ASSERT_EQ(spansOf(file).size(), 1u);
  EXPECT_EQ(spansOf(file)[0]["tid"], number);
  std::map<int, std::string> names;
  for (const json &event : eventsOf(file, "M"))
    if (event["name"] == "thread_name")
      names[event["tid"]] = event["args"]["name"];
  EXPECT_EQ(names, (std::map<int, std::string>{{number, "tester"}}));
}

TEST_F(Timeline, AFullBufferCountsWhatItLoses) {
  ASSERT_EQ(start(Starter::Caller, 3), Started::Yes);
  for (int i = 0; i < 10; ++i)
    const Span span("test", [&](Event &event) { event.name(i); });
  const json file = written();
  const std::vector<json> spans = spansOf(file);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[2]["name"], "2");
  EXPECT_EQ(file["otherData"]["lost_spans"], 7);
  const std::vector<json> marks = eventsOf(file, "i");
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0]["name"], "buffer full: 7 spans lost");
}

TEST_F(Timeline, LongAndUnusualNamesAreValidText) {
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  {
    const Span span("test", "quoted \" and\n" + std::string(200, 'x'));
  }
  std::string wide;
  for (int i = 0; i < 60; ++i)
    wide += "é";
  {
    const Span span("odd", wide);
  }
  const std::vector<json> spans = spansOf(written()); // throws unless it is JSON in UTF-8
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_TRUE(spans[0]["name"].get<std::string>().starts_with("quoted \" and\nxxx"));
  EXPECT_TRUE(spans[1]["name"].get<std::string>().starts_with("éé"));
}

TEST_F(Timeline, SpansOfTheProgram) {
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  const int64_t begin = upd_timeline_now();
  EXPECT_NE(begin, 0);
  upd_timeline_add("program", "backward", begin);
  upd_timeline_add("program", "never began", 0);
  const std::vector<json> spans = spansOf(written());
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["name"], "backward");
}

TEST_F(Timeline, ASpanThatBeganBeforeTheRecordingIsLeftOut) {
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  const int64_t begin = upd_timeline_now();
  ASSERT_EQ(upd_timeline_stop(nullptr), UPD_OK);
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  upd_timeline_add("program", "of the first recording", begin);
  EXPECT_TRUE(spansOf(written()).empty());
}

TEST_F(Timeline, StartingAndStoppingTwiceAreErrors) {
  EXPECT_EQ(upd_timeline_stop(path.c_str()), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "no timeline is recorded; start one first");
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  EXPECT_EQ(upd_timeline_start(), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "a timeline is recorded already, and a process has one at a time; "
                                 "stop it first");
  EXPECT_EQ(upd_timeline_stop(nullptr), UPD_OK);
}

TEST_F(Timeline, TheRecordingContinuesIfTheFileCannotBeWritten) {
  ASSERT_EQ(upd_timeline_start(), UPD_OK);
  {
    const Span span("test", "kept");
  }
  EXPECT_EQ(upd_timeline_stop("/no/such/folder/steps.json"), UPD_IO_ERROR);
  EXPECT_STREQ(upd_last_error(), "cannot write the timeline `/no/such/folder/steps.json`: No such "
                                 "file or directory");
  {
    const Span span("test", "added");
  }
  const std::vector<json> spans = spansOf(written());
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["name"], "kept");
  EXPECT_EQ(spans[1]["name"], "added");
}

/// Run with ThreadSanitizer, this finds races of the buffers.
TEST_F(Timeline, ThreadsRecordWhileOthersStartAndStop) {
  std::atomic<bool> isDone = false;
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&isDone] {
      for (int64_t number = 0; !isDone.load(std::memory_order_relaxed); ++number) {
        const Span outer("test", [&](Event &event) { event.name("outer ", number); });
        const Span inner("test", [&](Event &event) { event.name("inner ", number); });
      }
    });
  size_t found = 0;
  for (int round = 0; round < 200 || found == 0; ++round) {
    ASSERT_EQ(start(Starter::Caller, 100), Started::Yes);
    while (spanCount() == 0)
      std::this_thread::yield();
    if (round % 2 == 0)
      ASSERT_EQ(upd_timeline_stop(nullptr), UPD_OK);
    else
      for (const json &span : spansOf(written())) {
        ++found;
        const std::string name = span["name"];
        EXPECT_TRUE(name.starts_with("outer ") || name.starts_with("inner ")) << name;
      }
  }
  isDone = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(found, 0u);
}

TEST(TimelineVariable, FileOfAProcess) {
  EXPECT_EQ(fileOfProcess("steps.json", 42), "steps-42.json");
  EXPECT_EQ(fileOfProcess("/tmp/a.b/steps", 42), "/tmp/a.b/steps-42");
  EXPECT_EQ(fileOfProcess("a/.steps", 42), "a/.steps-42");
  EXPECT_EQ(fileOfProcess("%p/steps-%p.json", 42), "42/steps-42.json");
}
