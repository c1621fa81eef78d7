//===- TraceFile.cpp - Spans in Chrome's Trace Event Format -----------------------------------===//

#include "runtime/timeline/TraceFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace updraft::timeline;

namespace {
/// A text as JSON. A name that was cut within a character ends with a replacement character.
std::string quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Writes one event on each line.
class Writer {
public:
  explicit Writer(std::string &text) : out(text) {}

  void name(const char *what, int thread, std::string_view name) {
    add(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process, thread,
        quoted(name));
  }

  void span(const Event &event, int thread) {
    add(R"({{"name":{},"cat":{},"ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{{)",
        quoted(event.name()), quoted(event.category()), microseconds(event.begin),
        microseconds(event.end - event.begin), process, thread);
    for (size_t i = 0; i < event.numbers(); ++i)
      fmt::format_to(std::back_inserter(out), "{}{}:{}", i == 0 ? "" : ",", quoted(event.key(i)),
                     event.value(i));
    out += "}}";
  }

  /// Marks the time from which on spans are missing.
  void lost(uint64_t count, int64_t at, int thread) {
    add(R"({{"name":"buffer full: {} spans lost","ph":"i","s":"t","ts":{},"pid":{},"tid":{}}})",
        count, microseconds(at), process, thread);
  }

private:
  static std::string microseconds(int64_t nanoseconds) {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
  }

  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments &&...arguments) {
    out += isFirst ? "\n" : ",\n";
    isFirst = false;
    fmt::format_to(std::back_inserter(out), format, std::forward<Arguments>(arguments)...);
  }

  std::string &out;
  const int process = getpid();
  bool isFirst = true;
};

std::string nameOfProcess() {
  const char *rank = std::getenv("RANK");
  return fmt::format("{}{}{}", program_invocation_short_name, rank ? ", rank " : "",
                     rank ? rank : "");
}

/// The spans of a thread. One that contains others comes before them.
std::vector<const Event *> inOrder(const Buffer &buffer) {
  std::vector<const Event *> events;
  const size_t count = buffer.size();
  events.reserve(count);
  for (size_t i = 0; i < count; ++i)
    events.push_back(&buffer[i]);
  // A span is recorded after those that it contains.
  std::sort(events.begin(), events.end(), [](const Event *one, const Event *other) {
    if (one->begin != other->begin)
      return one->begin < other->begin;
    return one->end != other->end ? one->end > other->end : one > other;
  });
  return events;
}
} // namespace

std::string updraft::timeline::traceOf(const Buffers &buffers) {
  std::string text = R"({"displayTimeUnit":"ns","traceEvents":[)";
  Writer writer(text);
  uint64_t lost = 0;
  writer.name("process_name", 0, nameOfProcess());
  for (const std::shared_ptr<const Buffer> &buffer : buffers) {
    writer.name("thread_name", buffer->thread, buffer->name);
    const std::vector<const Event *> events = inOrder(*buffer);
    for (const Event *event : events)
      writer.span(*event, buffer->thread);
    if (buffer->lost() == 0)
      continue;
    lost += buffer->lost();
    writer.lost(buffer->lost(), events.empty() ? buffer->start : events.back()->end,
                buffer->thread);
  }
  return text + fmt::format("\n],\"otherData\":{{\"lost_spans\":{}}}}}\n", lost);
}
