//===- CodeFolder.cpp - A folder of files that are executed as code ---------------------------===//

#include "runtime/files/CodeFolder.h"

#include "runtime/files/Aside.h"
#include "runtime/files/FileReplacement.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace updraft::files;

namespace {
constexpr int64_t nanoseconds = 1'000'000'000;
constexpr int64_t abandonedAfter = 3600 * nanoseconds;

int64_t timeOf(const timespec &time) { return time.tv_sec * nanoseconds + time.tv_nsec; }

int64_t now() {
  timespec time;
  ::clock_gettime(CLOCK_REALTIME, &time);
  return timeOf(time);
}

bool readAll(int descriptor, std::string &bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) // the file was truncated
      return false;
    done += static_cast<size_t>(count);
  }
  return true;
}
} // namespace

std::optional<CodeFolder> CodeFolder::open(const std::string &path, IfMissing ifMissing,
                                           std::string &reason) {
  const int descriptor = openTrusted(path, ifMissing, reason);
  if (descriptor < 0)
    return std::nullopt;
  return CodeFolder(descriptor);
}

CodeFolder::CodeFolder(CodeFolder &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)) {}

CodeFolder::~CodeFolder() {
  if (descriptor >= 0)
    ::close(descriptor);
}

std::optional<std::string> CodeFolder::read(const std::string &name, uint64_t maxBytes) const {
  // Opening a pipe must not block.
  const int file =
      ::openat(descriptor, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return std::nullopt;
  struct stat status;
  std::optional<std::string> bytes;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      isOwn(status.st_uid, status.st_mode) && static_cast<uint64_t>(status.st_size) <= maxBytes) {
    bytes.emplace(static_cast<size_t>(status.st_size), '\0');
    if (!readAll(file, *bytes))
      bytes.reset();
  }
  ::close(file);
  return bytes;
}

bool CodeFolder::write(const std::string &name, std::string_view bytes) const {
  std::string aside;
  const int file = createAside(descriptor, "", 0600, aside);
  if (file < 0)
    return false;
  const bool written = writeAll(file, bytes);
  if (::close(file) == 0 && written &&
      ::renameat(descriptor, aside.c_str(), descriptor, name.c_str()) == 0)
    return true;
  ::unlinkat(descriptor, aside.c_str(), 0);
  return false;
}

void CodeFolder::touch(const std::string &name) const {
  ::utimensat(descriptor, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

int CodeFolder::remove(const std::string &name) const {
  return ::unlinkat(descriptor, name.c_str(), 0) == 0 ? 0 : errno;
}

std::vector<CodeFolder::File> CodeFolder::files(std::string_view suffix, int *error) const {
  std::vector<File> found;
  // Uses a separate descriptor, because the position in a folder belongs to the open file.
  const int listed = ::openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = listed < 0 ? nullptr : ::fdopendir(listed);
  if (!folder) {
    if (error)
      *error = errno;
    if (listed >= 0)
      ::close(listed);
    return found;
  }
  errno = 0;
  while (const dirent *entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    struct stat status;
    if (name.ends_with(suffix) &&
        ::fstatat(descriptor, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      found.push_back(
          {std::string(name), static_cast<uint64_t>(status.st_size), timeOf(status.st_mtim)});
    errno = 0;
  }
  if (error)
    *error = errno;
  ::closedir(folder);
  std::sort(found.begin(), found.end(),
            [](const File &a, const File &b) { return a.lastUsed > b.lastUsed; });
  return found;
}

void CodeFolder::evict(std::string_view suffix, uint64_t maxBytes) const {
  const int64_t oldest = now() - abandonedAfter;
  uint64_t total = 0;
  for (const File &file : files("")) {
    const bool isEntry = file.name.ends_with(suffix);
    if (isEntry)
      total += file.bytes;
    const bool isAbandoned = isAsideName(file.name) && file.lastUsed < oldest;
    if (isAbandoned || (isEntry && total > maxBytes))
      remove(file.name);
  }
}
