//===- updraft/Timeline.h - Recording the spans of threads --------------------------*- C++ -*-===//
// A file for ui.perfetto.dev. updraft-c/timeline.h says more.

#ifndef UPDRAFT_TIMELINE_H
#define UPDRAFT_TIMELINE_H

#include "updraft-c/timeline.h"
#include "updraft/Result.h"

#include <string>
#include <utility>

namespace updraft {
inline namespace v1 {

/// The recording of a timeline. A process has one at a time. Any thread may start and stop it, but
/// only one thread at a time may use an object.
class Timeline {
public:
  /// UPD_INVALID_ARGUMENT: a timeline is recorded already, maybe because of UPDRAFT_TIMELINE.
  static Result<Timeline> start() {
    if (const upd_status status = upd_timeline_start(); status != UPD_OK)
      return Error::last(status);
    return Timeline(true);
  }

  Timeline(Timeline &&other) noexcept : recording(std::exchange(other.recording, false)) {}
  Timeline &operator=(Timeline &&other) noexcept {
    std::swap(recording, other.recording);
    return *this;
  }
  /// Discards the recording unless `stop` has written it.
  ~Timeline() {
    if (recording)
      static_cast<void>(upd_timeline_stop(nullptr));
  }

  /// Writes the file. UPD_IO_ERROR: it can't be written; the recording continues, so `stop` may be
  /// called again. UPD_INVALID_ARGUMENT: the timeline is stopped already, or was moved away.
  Result<void> stop(const std::string &path) {
    if (!recording)
      return Error{UPD_INVALID_ARGUMENT, "this timeline is stopped already"};
    Result<void> written(upd_timeline_stop(path.c_str()));
    recording = !written;
    return written;
  }

private:
  explicit Timeline(bool recording) : recording(recording) {}
  bool recording;
};

/// Adds its own lifetime to the timeline, as a span of the thread that destroys it. Any number of
/// threads may have spans. Has no errors. Costs a few nanoseconds while none is recorded.
class TimelineSpan {
public:
  /// Keeps the pointers. They must not be null.
  TimelineSpan(const char *category, const char *name)
      : category(category), name(name), begin(upd_timeline_now()) {}
  ~TimelineSpan() { upd_timeline_add(category, name, begin); }
  TimelineSpan(const TimelineSpan &) = delete;
  TimelineSpan &operator=(const TimelineSpan &) = delete;

private:
  const char *category, *name;
  int64_t begin;
};

} // namespace v1
} // namespace updraft

#endif // UPDRAFT_TIMELINE_H
