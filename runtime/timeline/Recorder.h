//===- Recorder.h - The timeline of a process ---------------------------------------*- C++ -*-===//
// Each thread appends spans to a buffer of its own, without a lock. The functions of Span.h that
// read the clock and add a span are here.

#ifndef UPDRAFT_RUNTIME_TIMELINE_RECORDER_H
#define UPDRAFT_RUNTIME_TIMELINE_RECORDER_H

#include "runtime/timeline/Span.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace updraft::timeline {

/// The spans of one thread. Only that thread adds some. Any thread may read those that are counted.
class Buffer {
public:
  /// Belongs to the calling thread. The memory of `capacity` spans is used as it fills. May throw
  /// std::bad_alloc.
  Buffer(uint64_t recording, int64_t start, size_t capacity);
  ~Buffer();
  Buffer(const Buffer &) = delete;

  void add(const Event &event);

  size_t size() const { return count.load(std::memory_order_acquire); }
  const Event &operator[](size_t index) const { return events[index]; }
  /// Spans that came when the buffer was full.
  uint64_t lost() const { return lostCount.load(std::memory_order_relaxed); }

  const uint64_t recording;
  const int64_t start; ///< of the recording
  const int thread;    ///< the system's number
  const std::string name;

private:
  const size_t capacity;
  Event *const events; ///< not initialized beyond `count`
  std::atomic<size_t> count = 0;
  std::atomic<uint64_t> lostCount = 0;
};

using Buffers = std::vector<std::shared_ptr<const Buffer>>;

/// 18 MiB for each thread that fills its buffer.
constexpr size_t spansPerThread = size_t(1) << 17;

enum class Starter { Caller, Variable };
enum class Started { Yes, AlreadyRecording, VariableRecords };

/// Starts a recording. A thread whose buffer is full records no more spans; they are counted.
/// Thread-safe.
Started start(Starter starter = Starter::Caller, size_t capacity = spansPerThread);

enum class Stopped { Yes, NotRecording, VariableRecords, NotWritten };

/// Ends the recording and writes it to a file, or discards it if `path` is null. If the file can't
/// be written, sets `why`, and the recording continues. Only the starter can stop it. Thread-safe.
Stopped stop(const std::string *path, std::string &why, Starter starter = Starter::Caller);

/// The number of spans so far. Thread-safe.
size_t spanCount();

} // namespace updraft::timeline

#endif // UPDRAFT_RUNTIME_TIMELINE_RECORDER_H
