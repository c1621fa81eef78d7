//===- TraceFile.h - Spans in Chrome's Trace Event Format ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TIMELINE_TRACEFILE_H
#define UPDRAFT_RUNTIME_TIMELINE_TRACEFILE_H

#include "runtime/timeline/Recorder.h"

#include <string>

namespace updraft::timeline {

/// The JSON of a timeline: the names of the process and its threads, then the spans of each thread
/// in the order in which they began. Times are in microseconds of the steady clock, so that the
/// files of several processes of a machine can be shown together.
std::string traceOf(const Buffers &buffers);

} // namespace updraft::timeline

#endif // UPDRAFT_RUNTIME_TIMELINE_TRACEFILE_H
