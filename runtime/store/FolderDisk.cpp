//===- FolderDisk.cpp - A folder of the file system -------------------------------------------===//

#include "runtime/store/FolderDisk.h"

#include "runtime/store/StoreError.h"
#include "runtime/timeline/Span.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

using namespace updraft::store;
namespace timeline = updraft::timeline;

/// Throws the error in errno.
[[noreturn]] static void fail(const std::string &what) {
  const int error = errno;
  const bool isFull = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw StoreError(isFull ? StoreError::Kind::Full : StoreError::Kind::Failed,
                   fmt::format("cannot {}: {}", what, std::strerror(error)));
}

namespace {

class FolderFile : public File {
public:
  FolderFile(int descriptor, std::string path) : descriptor(descriptor), path(std::move(path)) {}
  ~FolderFile() override { ::close(descriptor); }
  FolderFile(const FolderFile &) = delete;
  FolderFile &operator=(const FolderFile &) = delete;

  uint64_t size() const override {
    struct stat found{};
    if (::fstat(descriptor, &found) != 0)
      fail(fmt::format("read `{}`", path));
    return static_cast<uint64_t>(found.st_size);
  }

  size_t read(uint64_t offset, void *data, size_t bytes) const override {
    size_t done = 0;
    while (done < bytes) {
      const ssize_t count = ::pread(descriptor, static_cast<char *>(data) + done, bytes - done,
                                    static_cast<off_t>(offset + done));
      if (count < 0 && errno != EINTR)
        fail(fmt::format("read `{}`", path));
      if (count == 0)
        break;
      done += count > 0 ? static_cast<size_t>(count) : 0;
    }
    return done;
  }

  void write(uint64_t offset, const std::vector<std::string_view> &parts) override {
    std::vector<iovec> rest;
    for (std::string_view part : parts)
      if (!part.empty())
        rest.push_back({const_cast<char *>(part.data()), part.size()});
    for (size_t next = 0; next < rest.size();) {
      const auto count = std::min(rest.size() - next, size_t(64));
      const ssize_t written = ::pwritev(descriptor, rest.data() + next, static_cast<int>(count),
                                        static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        fail(fmt::format("write `{}`", path));
      offset += static_cast<uint64_t>(written);
      for (auto left = static_cast<size_t>(written); next < rest.size();) {
        iovec &part = rest[next];
        if (left < part.iov_len) {
          part.iov_base = static_cast<char *>(part.iov_base) + left;
          part.iov_len -= left;
          break;
        }
        left -= part.iov_len;
        ++next;
      }
    }
  }

  void truncate(uint64_t size) override {
    if (::ftruncate(descriptor, static_cast<off_t>(size)) != 0)
      fail(fmt::format("truncate `{}`", path));
  }

  void sync() override {
    const timeline::Span span("disk", [&](timeline::Event &event) {
      event.name("sync ", std::string_view(path).substr(path.rfind('/') + 1));
    });
    if (::fdatasync(descriptor) != 0)
      fail(fmt::format("sync `{}`", path));
  }

private:
  const int descriptor;
  const std::string path;
};

} // namespace

/// Syncs the folder that has this one, whose name is new.
static void syncParent(const std::string &path) {
  const int parent = ::open((path + "/..").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool isSynced = parent >= 0 && ::fsync(parent) == 0;
  const int error = errno;
  if (parent >= 0)
    ::close(parent);
  errno = error;
  if (!isSynced)
    fail(fmt::format("sync the folder that has `{}`", path));
}

FolderDisk::FolderDisk(const std::string &path) : folder(path) {
  const bool isNew = ::mkdir(path.c_str(), 0700) == 0;
  if (!isNew && errno != EEXIST)
    fail(fmt::format("create the folder `{}`", path));
  if (isNew)
    syncParent(path);
  descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    fail(fmt::format("open the folder `{}`", path));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return;
  ::close(descriptor); // the destructor doesn't run
  throw StoreError(StoreError::Kind::InUse,
                   fmt::format("the store `{}` is in use by another process; give each worker a "
                               "store of its own",
                               path));
}

FolderDisk::~FolderDisk() {
  if (descriptor >= 0)
    ::close(descriptor);
}

std::unique_ptr<File> FolderDisk::open(const std::string &name, Opening opening) {
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (opening == Opening::OrCreate ? O_CREAT : 0);
  const int file = ::openat(descriptor, name.c_str(), flags, 0600);
  if (file >= 0)
    return std::make_unique<FolderFile>(file, folder + "/" + name);
  if (errno == ENOENT && opening == Opening::Existing)
    return nullptr;
  fail(fmt::format("open `{}/{}`", folder, name));
}

void FolderDisk::rename(const std::string &from, const std::string &to) {
  if (::renameat(descriptor, from.c_str(), descriptor, to.c_str()) != 0)
    fail(fmt::format("rename `{0}/{1}` to `{0}/{2}`", folder, from, to));
}

void FolderDisk::remove(const std::string &name) {
  if (::unlinkat(descriptor, name.c_str(), 0) != 0 && errno != ENOENT)
    fail(fmt::format("remove `{}/{}`", folder, name));
}

std::vector<std::string> FolderDisk::list() const {
  // A descriptor of its own, since the position in a folder belongs to the descriptor.
  const int own = ::openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *const opened = own < 0 ? nullptr : ::fdopendir(own);
  if (!opened)
    fail(fmt::format("list the folder `{}`", folder));
  std::vector<std::string> names;
  errno = 0; // which alone tells an error from the end
  while (const dirent *entry = ::readdir(opened)) {
    if (const std::string name = entry->d_name; name != "." && name != "..")
      names.push_back(name);
    errno = 0;
  }
  const int error = errno;
  ::closedir(opened);
  errno = error;
  if (error != 0) // a journal without its last segments would be continued in their place
    fail(fmt::format("list the folder `{}`", folder));
  std::sort(names.begin(), names.end());
  return names;
}

void FolderDisk::syncNames() {
  const timeline::Span span("disk", "sync the folder");
  if (::fsync(descriptor) != 0)
    fail(fmt::format("sync the folder `{}`", folder));
}
