//===- Timeline.cpp - Spans of the adapter, on the timeline of the library -------------------===//
// A process has one timeline, which the library records. So the adapter has these functions in
// place of those in runtime/timeline/Recorder.cpp.

#include "runtime/timeline/Span.h"

#include "runtime/torch/Library.h"

using namespace updraft;
using torch_adapter::Library;

int64_t timeline::now() {
  const Library *library = Library::find();
  return library ? library->upd_timeline_now() : 0;
}

/// The library ends the span now, and numbers get lost: no span of the adapter has some.
void timeline::add(const Event &event) {
  // A destructor calls this, so that it must not throw: no string is allocated.
  char category[sizeof(Event)] = {}, name[sizeof(Event)] = {};
  event.category().copy(category, sizeof(category) - 1);
  event.name().copy(name, sizeof(name) - 1);
  Library::get().upd_timeline_add(category, name, event.begin);
}
