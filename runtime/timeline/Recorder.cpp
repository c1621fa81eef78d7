//===- Recorder.cpp - The timeline of a process -----------------------------------------------===//

#include "runtime/timeline/Recorder.h"

#include "runtime/files/FileReplacement.h"
#include "runtime/timeline/TraceFile.h"
#include "runtime/timeline/Variable.h"

#include <chrono>
#include <mutex>
#include <new>
#include <pthread.h>
#include <unistd.h>

using namespace updraft::timeline;

namespace {
/// The number of the recording, or 0 while there is none. Changes with `control` held.
constinit std::atomic<uint64_t> current = 0;

/// Never destroyed, because threads may record while the process exits.
struct State {
  std::mutex control; ///< held by `start` and `stop`
  Starter starter = Starter::Caller;
  uint64_t last = 0; ///< recording

  std::mutex list; ///< guards what follows; held shortly
  int64_t started = 0;
  size_t capacity = 0;
  Buffers buffers;
};

State &state() {
  static State &state = *new State;
  return state;
}

/// Whether the calling thread's `own` is destroyed. Static objects are destroyed later.
constinit thread_local bool isEnded = false;

/// The calling thread's buffer, of a recording that may have ended.
struct OwnBuffer {
  std::shared_ptr<Buffer> buffer;
  ~OwnBuffer() { isEnded = true; }
};
thread_local OwnBuffer own;

int64_t clockNow() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string nameOfThread() {
  if (gettid() == getpid())
    return "main";
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

void begin(size_t capacity) {
  State &all = state();
  {
    const std::lock_guard guard(all.list);
    all.started = clockNow();
    all.capacity = capacity;
    all.buffers.clear();
  }
  current.store(++all.last, std::memory_order_release);
}

/// A child process doesn't continue its parent's recording, because the file would have the
/// parent's spans. If the variable asks for it, it starts a recording of its own.
void watchForks() {
  pthread_atfork(
      [] {
        state().control.lock();
        state().list.lock();
      },
      [] {
        state().list.unlock();
        state().control.unlock();
      },
      [] {
        state().list.unlock();
        if (current.exchange(0) != 0 && state().starter == Starter::Variable)
          begin(state().capacity);
        state().control.unlock();
      });
}

/// Null if the recording has ended or there is no memory.
std::shared_ptr<Buffer> makeBuffer(uint64_t recording) {
  State &all = state();
  try {
    const std::lock_guard guard(all.list);
    if (current.load(std::memory_order_relaxed) != recording)
      return nullptr;
    auto made = std::make_shared<Buffer>(recording, all.started, all.capacity);
    all.buffers.push_back(made);
    return made;
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}
} // namespace

Buffer::Buffer(uint64_t recording, int64_t start, size_t capacity)
    : recording(recording), start(start), thread(gettid()), name(nameOfThread()),
      capacity(capacity), events(std::allocator<Event>().allocate(capacity)) {}

Buffer::~Buffer() { std::allocator<Event>().deallocate(events, capacity); }

void Buffer::add(const Event &event) {
  const size_t index = count.load(std::memory_order_relaxed);
  if (index == capacity) {
    lostCount.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::construct_at(events + index, event);
  count.store(index + 1, std::memory_order_release);
}

int64_t updraft::timeline::now() {
  return current.load(std::memory_order_relaxed) == 0 ? 0 : clockNow();
}

void updraft::timeline::add(const Event &event) {
  const uint64_t recording = current.load(std::memory_order_acquire);
  if (recording == 0 || isEnded)
    return;
  std::shared_ptr<Buffer> &buffer = own.buffer;
  if (!buffer || buffer->recording != recording)
    buffer = makeBuffer(recording);
  if (buffer && event.begin >= buffer->start && event.end >= event.begin)
    buffer->add(event);
}

Started updraft::timeline::start(Starter starter, size_t capacity) {
  State &all = state();
  const std::lock_guard guard(all.control);
  if (current.load(std::memory_order_relaxed) != 0)
    return all.starter == Starter::Variable ? Started::VariableRecords : Started::AlreadyRecording;
  static const bool watching = (watchForks(), true);
  static_cast<void>(watching);
  all.starter = starter;
  begin(capacity);
  return Started::Yes;
}

Stopped updraft::timeline::stop(const std::string *path, std::string &why, Starter starter) {
  State &all = state();
  const std::lock_guard guard(all.control);
  const uint64_t recording = current.load(std::memory_order_relaxed);
  if (recording == 0)
    return Stopped::NotRecording;
  if (all.starter != starter)
    return Stopped::VariableRecords;
  current.store(0, std::memory_order_relaxed);
  Buffers buffers;
  {
    const std::lock_guard list(all.list);
    buffers.swap(all.buffers);
  }
  if (!path)
    return Stopped::Yes;
  files::Failure failure;
  try {
    failure = files::writeFile(*path, traceOf(buffers));
  } catch (const std::bad_alloc &) {
    failure = "no memory is left for its text";
  }
  if (!failure)
    return Stopped::Yes;
  why = *failure;
  const std::lock_guard list(all.list);
  all.buffers.swap(buffers);
  current.store(recording, std::memory_order_release);
  return Stopped::NotWritten;
}

size_t updraft::timeline::spanCount() {
  State &all = state();
  const std::lock_guard guard(all.list);
  size_t count = 0;
  for (const std::shared_ptr<const Buffer> &buffer : all.buffers)
    count += buffer->size();
  return count;
}

/// Here, so that each program that records spans has it.
static const bool isStartedByVariable = startByVariable();
