//===- Span.h - A span of time on the timeline --------------------------------------*- C++ -*-===//
// While no timeline is recorded, a span costs a call that loads one relaxed atomic.

#ifndef UPDRAFT_RUNTIME_TIMELINE_SPAN_H
#define UPDRAFT_RUNTIME_TIMELINE_SPAN_H

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace updraft::timeline {

/// A span as threads record it. Has a fixed size, so that recording allocates nothing.
class Event {
public:
  int64_t begin = 0; ///< ns of the steady clock; 0: nothing else is set
  int64_t end;

  Event() = default;
  Event(std::string_view category, int64_t begin)
      : begin(begin), end(begin), count(0), nameAt(0), length(0) {
    append(category);
    append(std::string_view("", 1));
    nameAt = length;
  }

  /// Appends texts and integers to the name. A name that doesn't fit is cut.
  template <typename... Parts> void name(const Parts &...parts) { (append(parts), ...); }

  /// Adds a number that the viewer shows, at most two. `key` must be a literal.
  void number(const char *key, int64_t value) {
    if (count == 2)
      return;
    keys[count] = key;
    values[count++] = value;
  }

  std::string_view category() const { return {text, nameAt - size_t(1)}; }
  std::string_view name() const { return {text + nameAt, static_cast<size_t>(length) - nameAt}; }
  size_t numbers() const { return count; }
  const char *key(size_t index) const { return keys[index]; }
  int64_t value(size_t index) const { return values[index]; }

private:
  void append(std::string_view part) {
    const size_t size = std::min(part.size(), sizeof(text) - length);
    std::memcpy(text + length, part.data(), size);
    length = static_cast<uint8_t>(length + size);
  }
  void append(std::integral auto number) {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number);
    append(std::string_view(digits, end));
  }

  const char *keys[2];
  int64_t values[2];
  uint8_t count, nameAt, length;
  char text[93]; ///< the category, a null character and the name
};
static_assert(sizeof(Event) == 144);

/// The time in ns, or 0 while no timeline is recorded.
int64_t now();

/// Records a span of the calling thread. Has no effect while no timeline is recorded, or if the
/// span began before the recording.
void add(const Event &event);

/// Records its own lifetime as a span of the calling thread.
class Span {
public:
  /// Calls `describe` with the Event, for the name and numbers, only if a timeline is recorded.
  template <std::invocable<Event &> Describe> Span(const char *category, const Describe &describe) {
    if (const int64_t begin = now()) [[unlikely]] {
      event = Event(category, begin);
      describe(event);
    }
  }
  Span(const char *category, std::string_view name)
      : Span(category, [&](Event &event) { event.name(name); }) {}
  ~Span() {
    if (event.begin != 0) [[unlikely]]
      finish();
  }
  Span(const Span &) = delete;

private:
  void finish() {
    event.end = now();
    add(event);
  }

  Event event;
};

} // namespace updraft::timeline

#endif // UPDRAFT_RUNTIME_TIMELINE_SPAN_H
