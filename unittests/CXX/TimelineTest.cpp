//===- TimelineTest.cpp - updraft/Timeline.h --------------------------------------------------===//

#include "updraft/Timeline.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <utility>

using updraft::Result;
using updraft::Timeline;
using updraft::TimelineSpan;

TEST(Timeline, WritesTheSpansOfItsLifetime) {
  const std::string path = testing::TempDir() + "timeline-cxx.json";
  {
    const TimelineSpan span("program", "too early");
  }
  Result<Timeline> started = Timeline::start();
  ASSERT_TRUE(started) << started.error().message;
  Timeline timeline = std::move(*started);
  EXPECT_EQ(Timeline::start().error().code, UPD_INVALID_ARGUMENT);
  {
    const TimelineSpan span("program", "backward");
  }
  EXPECT_EQ(timeline.stop("/no/such/folder/steps.json").error().code, UPD_IO_ERROR);
  {
    const TimelineSpan span("program", "forward");
  }
  ASSERT_TRUE(timeline.stop(path));
  EXPECT_FALSE(timeline.stop(path));
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text.find("too early"), std::string::npos);
  EXPECT_NE(text.find(R"("name":"backward","cat":"program")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("name":"forward","cat":"program")"), std::string::npos) << text;
  std::remove(path.c_str());
}

TEST(Timeline, ItsDestructorDiscardsTheRecording) {
  {
    ASSERT_TRUE(Timeline::start());
  }
  EXPECT_EQ(upd_timeline_now(), 0);
}
