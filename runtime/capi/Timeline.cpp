//===- Timeline.cpp - updraft-c/timeline.h ----------------------------------------------------===//

#include "updraft-c/timeline.h"

#include "runtime/capi/Report.h"
#include "runtime/timeline/Recorder.h"

#include <fmt/format.h>

using namespace updraft;
using capi::report;
using runtime::invalidArgument;
using runtime::Status;

static Status startedByVariable() {
  return invalidArgument("UPDRAFT_TIMELINE records a timeline of the whole process, which is "
                         "written when the process exits; remove the variable to choose the time");
}

upd_status upd_timeline_start() {
  return report([] {
    switch (timeline::start()) {
    case timeline::Started::AlreadyRecording:
      return invalidArgument("a timeline is recorded already, and a process has one at a time; "
                             "stop it first");
    case timeline::Started::VariableRecords:
      return startedByVariable();
    case timeline::Started::Yes:
      break;
    }
    return Status();
  });
}

upd_status upd_timeline_stop(const char *path) {
  return report([&] {
    std::string why;
    const std::string file = path ? path : "";
    switch (timeline::stop(path ? &file : nullptr, why)) {
    case timeline::Stopped::NotRecording:
      return invalidArgument("no timeline is recorded; start one first");
    case timeline::Stopped::VariableRecords:
      return startedByVariable();
    case timeline::Stopped::NotWritten:
      return runtime::ioError(fmt::format("cannot write the timeline `{}`: {}", file, why));
    case timeline::Stopped::Yes:
      break;
    }
    return Status();
  });
}

int64_t upd_timeline_now() { return timeline::now(); }

void upd_timeline_add(const char *category, const char *name, int64_t begin) {
  const int64_t end = timeline::now();
  if (begin == 0 || end == 0)
    return;
  timeline::Event event(category, begin);
  event.name(std::string_view(name));
  event.end = end;
  timeline::add(event);
}
