//===- Journal.cpp - The changes since a snapshot ---------------------------------------------===//

#include "runtime/store/Journal.h"

#include "runtime/store/RecordHeader.h"
#include "runtime/store/StoreError.h"
#include "runtime/timeline/Span.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <utility>

using namespace updraft::store;
namespace timeline = updraft::timeline;

static constexpr std::string_view prefix = Journal::prefix;

static std::string nameOfSegment(uint64_t first) { return fmt::format("{}{:020}", prefix, first); }

static std::optional<uint64_t> parseSegment(std::string_view name) {
  if (!name.starts_with(prefix) || name.size() != prefix.size() + 20)
    return std::nullopt;
  uint64_t first = 0;
  const char *end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, first);
  if (error != std::errc() || rest != end)
    return std::nullopt;
  return first;
}

[[noreturn]] static void damaged(uint64_t segment, uint64_t offset, const std::string &what) {
  throw StoreError(
      StoreError::Kind::Damaged,
      fmt::format("the journal is damaged: `{}`, byte {}: {}; restore the file from a copy",
                  nameOfSegment(segment), offset, what));
}

Journal::Journal(Disk &disk, uint64_t store, uint64_t after, const Visitor &visit)
    : disk(disk), store(store), appended(after) {
  read(after, visit);
  synced = appended;
  openSegment();
}

void Journal::read(uint64_t after, const Visitor &visit) {
  for (const std::string &name : disk.list())
    if (const auto first = parseSegment(name))
      segments.push_back({*first, 0});
  // Segments that end before `after` were to be removed.
  while (segments.size() > 1 && segments[1].first <= after + 1) {
    disk.remove(nameOfSegment(segments.front().first));
    segments.erase(segments.begin());
  }
  if (segments.empty())
    return;
  if (segments.front().first > after + 1)
    damaged(segments.front().first, 0,
            fmt::format("the records from {} to {} are missing", after + 1,
                        segments.front().first - 1));
  appended = segments.front().first - 1;
  std::string content; // its memory is used again
  for (Segment &segment : segments) {
    if (segment.first != appended + 1)
      damaged(
          segment.first, 0,
          fmt::format("the records from {} to {} are missing", appended + 1, segment.first - 1));
    readSegment(segment, &segment == &segments.back(), after, visit, content);
  }
  if (appended < after)
    damaged(segments.back().first, segments.back().bytes,
            fmt::format("the records from {} to {} are missing", appended + 1, after));
}

/// Whether the file has a record, from `offset` on, that was written when `number` had been synced.
static bool wasSynced(const File &file, uint64_t store, uint64_t offset, uint64_t number) {
  std::vector<RecordHeader> headers(size_t(1) << 14);
  for (;;) {
    const size_t bytes = file.read(offset, headers.data(), headers.size() * sizeof(RecordHeader));
    for (size_t i = 0; i < bytes / sizeof(RecordHeader); ++i)
      if (headers[i].isValid(store) && headers[i].number > number && headers[i].synced >= number)
        return true;
    if (bytes < headers.size() * sizeof(RecordHeader))
      return false;
    offset += bytes;
  }
}

void Journal::readSegment(Segment &segment, bool isLast, uint64_t after, const Visitor &visit,
                          std::string &content) {
  const std::string name = nameOfSegment(segment.first);
  const auto opened = disk.open(name, Disk::Opening::Existing);
  const uint64_t size = opened->size();
  uint64_t offset = 0;
  while (offset < size) {
    RecordHeader header;
    header.magic = 0; // unless it is read
    const bool hasHeader = opened->read(offset, &header, sizeof(header)) == sizeof(header) &&
                           header.isValid(store) && header.number == appended + 1 &&
                           header.bytes <= size - offset - sizeof(header);
    if (header.isOfAnother(store))
      damaged(segment.first, offset, "it belongs to another store");
    bool isWhole = false;
    if (hasHeader) {
      content.resize(header.bytes);
      isWhole =
          opened->read(offset + sizeof(header), content.data(), content.size()) == content.size() &&
          header.matches({content});
    }
    if (!isWhole) {
      if (!isLast || wasSynced(*opened, store, offset, appended + 1))
        damaged(segment.first, offset,
                fmt::format("record {} is not what was written", appended + 1));
      opened->truncate(offset);
      break;
    }
    ++appended;
    offset = std::min(size, offset + header.bytesInFile());
    if (appended > after)
      visit(appended, content);
  }
  segment.bytes = offset;
  // A process that was killed may have written records without syncing them, and now they count.
  if (isLast)
    opened->sync();
}

/// Called with both mutexes held, or by the constructor.
void Journal::openSegment() {
  std::shared_ptr<File> opened = disk.open(nameOfSegment(appended + 1), Disk::Opening::OrCreate);
  try {
    opened->truncate(0);
    disk.syncNames();
  } catch (const StoreError &error) { // the name may stay, and says that the last segment has ended
    failure = error.what();
    throw;
  }
  if (segments.empty() || segments.back().first != appended + 1)
    segments.push_back({appended + 1, 0});
  file = std::move(opened);
}

void Journal::requireWhole() const {
  if (!failure.empty())
    throw StoreError(StoreError::Kind::Failed,
                     fmt::format("the journal takes no more records since an error: {}; restart "
                                 "the worker",
                                 failure));
}

uint64_t Journal::append(const std::vector<std::string_view> &parts) {
  const std::lock_guard writer(writing);
  RecordHeader header;
  uint64_t offset = 0;
  {
    const std::lock_guard guard(mutex);
    requireWhole();
    header.number = appended + 1;
    header.synced = synced;
    offset = segments.back().bytes;
  }
  header.seal(store, parts);
  static constexpr char zeros[RecordHeader::alignment] = {};
  std::vector<std::string_view> written = {
      {reinterpret_cast<const char *>(&header), sizeof(header)}};
  written.insert(written.end(), parts.begin(), parts.end());
  const uint64_t bytes = header.bytesInFile();
  written.emplace_back(zeros, bytes - sizeof(header) - header.bytes);
  try {
    file->write(offset, written);
  } catch (const StoreError &error) {
    try {
      file->truncate(offset);
    } catch (const StoreError &) { // the next record would follow a part of this one
      const std::lock_guard guard(mutex);
      failure = error.what();
    }
    throw;
  }
  const std::lock_guard guard(mutex);
  segments.back().bytes += bytes;
  return ++appended;
}

void Journal::sync(uint64_t number) {
  std::unique_lock lock(mutex);
  for (;;) {
    if (synced >= number)
      return;
    requireWhole();
    if (!isSyncing)
      break;
    const timeline::Span span("disk", "wait for another sync");
    changed.wait(lock);
  }
  isSyncing = true;
  const uint64_t target = appended;
  const std::shared_ptr<File> current = file;
  lock.unlock();
  std::string error;
  try {
    current->sync();
  } catch (const StoreError &thrown) {
    error = thrown.what();
  }
  lock.lock();
  isSyncing = false;
  if (error.empty())
    synced = std::max(synced, target);
  else // the system may have dropped what it could not write, so a second attempt proves nothing
    failure = error;
  changed.notify_all();
  requireWhole();
}

uint64_t Journal::last() const {
  const std::lock_guard guard(mutex);
  return appended;
}

uint64_t Journal::bytes() const {
  const std::lock_guard guard(mutex);
  uint64_t result = 0;
  for (const Segment &segment : segments)
    result += segment.bytes;
  return result;
}

uint64_t Journal::startSegment() {
  const std::lock_guard writer(writing);
  const uint64_t number = last();
  sync(number);
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !isSyncing; });
  if (segments.back().bytes != 0)
    openSegment();
  return number;
}

void Journal::removeUpTo(uint64_t number) {
  std::vector<uint64_t> obsolete;
  {
    const std::lock_guard guard(mutex);
    while (segments.size() > 1 && segments[1].first <= number + 1) {
      obsolete.push_back(segments.front().first);
      segments.erase(segments.begin());
    }
  }
  for (uint64_t first : obsolete)
    disk.remove(nameOfSegment(first));
}
