//===- FileReplacement.cpp - Atomic replacement of a file -------------------------------------===//

#include "runtime/files/FileReplacement.h"

#include "runtime/files/Aside.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

using namespace updraft::files;
namespace fs = std::filesystem;

namespace {
Failure lastError() { return std::string(std::strerror(errno)); }

std::string folderOf(const std::string &path) {
  const std::string folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// Links in /proc refer to open files, which can't be replaced.
bool isInProc(const std::string &path) {
  struct statfs system;
  return ::statfs(folderOf(path).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

constexpr const char *mountPointReason =
    "it is a mount point, which cannot be replaced; mount the folder that contains the file, or "
    "choose another file";

/// Whether a file is a mount point, as for single files in containers. False if the kernel is too
/// old to tell.
bool hasMount(const std::string &path) {
  struct statx status;
  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}
} // namespace

/// The target of a path, after following all symbolic links.
struct FileReplacement::Target {
  std::string path;
  struct stat status{};
  bool exists = false;
  bool isRegular = false; // and can be replaced in its folder

  /// Whether the file is written directly instead of replaced.
  bool isStream() const { return exists && !isRegular && !S_ISDIR(status.st_mode); }
};

Failure FileReplacement::resolve(std::string path, Target &target) {
  constexpr int maxLinks = 40; // as in Linux
  for (int links = 0; links <= maxLinks; ++links) {
    target.path = path;
    if (::lstat(path.c_str(), &target.status) != 0)
      return errno == ENOENT ? Failure() : lastError();
    if (!S_ISLNK(target.status.st_mode)) {
      target.exists = true;
      target.isRegular = S_ISREG(target.status.st_mode);
      return {};
    }
    if (isInProc(path)) {
      target.exists = ::stat(path.c_str(), &target.status) == 0;
      return target.exists ? Failure() : lastError();
    }
    std::error_code error;
    const fs::path next = fs::read_symlink(path, error);
    if (error)
      return error.message();
    path = fs::path(path).parent_path() / next;
  }
  errno = ELOOP;
  return lastError();
}

namespace {
/// Makes the new name survive a loss of power. Not all file systems support this.
void syncFolder(const std::string &folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  ::fsync(descriptor);
  ::close(descriptor);
}

Failure writeInto(const std::string &path, std::string_view bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0)
    return lastError();
  Failure failure = writeAll(descriptor, bytes) ? Failure() : lastError();
  if (::close(descriptor) != 0 && !failure)
    failure = lastError();
  return failure;
}
} // namespace

bool updraft::files::writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

FileReplacement::FileReplacement(std::string path, OtherNames otherNames, Synced synced)
    : path(std::move(path)), otherNames(otherNames), synced(synced) {}

FileReplacement::~FileReplacement() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!aside.empty())
    ::unlink(aside.c_str());
}

Failure FileReplacement::open() {
  Target target;
  if (Failure failure = resolve(path, target))
    return failure;
  return open(target);
}

Failure FileReplacement::open(const Target &target) {
  path = target.path;
  if (!target.exists)
    return makeAside(0666);
  if (S_ISDIR(target.status.st_mode))
    return "it is a folder";
  if (!target.isRegular)
    return "it is not a regular file";
  if ((target.status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0)
    return "it is read-only";
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
    return lastError();
  if (hasMount(path))
    return mountPointReason;
  if (otherNames == OtherNames::Refuse && target.status.st_nlink > 1)
    return "it has " + std::to_string(target.status.st_nlink) +
           " hard links, and only this one would have the new content; copy it to a name of its "
           "own";
  if (Failure failure = makeAside(0600))
    return failure;
  return keepOwner(target.status);
}

/// In the same folder, because a rename is atomic within a folder.
Failure FileReplacement::makeAside(mode_t mode) {
  descriptor = createAside(AT_FDCWD, fs::path(path).parent_path(), mode, aside);
  if (descriptor >= 0)
    return {};
  aside.clear();
  if (errno != EACCES && errno != EPERM && errno != EROFS)
    return lastError();
  const std::string reason = std::strerror(errno);
  return "its folder `" + folderOf(path) + "` is not writable (" + reason +
         "), and the new content is first written beside the file; make the folder writable, or "
         "choose another one";
}

Failure FileReplacement::keepOwner(const struct stat &old) {
  mode_t mode = old.st_mode & 0777;
  struct stat made;
  if (::fstat(descriptor, &made) != 0)
    return lastError();
  if ((made.st_uid != old.st_uid || made.st_gid != old.st_gid) &&
      ::fchown(descriptor, old.st_uid, old.st_gid) != 0 &&
      ::fchown(descriptor, static_cast<uid_t>(-1), old.st_gid) != 0)
    // The new group must not get the permissions of the old one.
    mode = (mode & ~static_cast<mode_t>(070)) | ((mode & 07) << 3 & mode);
  return ::fchmod(descriptor, mode) == 0 ? Failure() : lastError();
}

Failure FileReplacement::write(const void *data, size_t bytes) {
  if (writeAll(descriptor, {static_cast<const char *>(data), bytes}))
    return {};
  return lastError();
}

Failure FileReplacement::publish() {
  // A file system without a sync returns EINVAL.
  if (synced == Synced::Yes && ::fsync(descriptor) != 0 && errno != EINVAL && errno != ENOSYS)
    return lastError();
  const int closed = ::close(std::exchange(descriptor, -1));
  if (closed != 0)
    return lastError();
  if (::rename(aside.c_str(), path.c_str()) != 0)
    return errno == EBUSY ? mountPointReason : lastError();
  aside.clear();
  if (synced == Synced::Yes)
    syncFolder(folderOf(path));
  return {};
}

Failure updraft::files::checkWritable(const std::string &path) {
  FileReplacement::Target target;
  if (Failure failure = FileReplacement::resolve(path, target))
    return failure;
  if (!target.isStream())
    return FileReplacement(path).open(target);
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 ? Failure() : lastError();
}

Failure updraft::files::writeFile(const std::string &path, std::string_view bytes,
                                  OtherNames otherNames, Synced synced) {
  FileReplacement::Target target;
  if (Failure failure = FileReplacement::resolve(path, target))
    return failure;
  if (target.isStream())
    return writeInto(path, bytes);
  FileReplacement file(path, otherNames, synced);
  if (Failure failure = file.open(target))
    return failure;
  if (Failure failure = file.write(bytes.data(), bytes.size()))
    return failure;
  return file.publish();
}

bool updraft::files::wouldBeSameFile(const std::string &a, const std::string &b) {
  std::error_code error, otherError;
  if (isSameFile(a, b)) // also by links of /proc, such as /dev/stdin
    return fs::is_regular_file(a, error);
  FileReplacement::Target one, other;
  if (FileReplacement::resolve(a, one) || FileReplacement::resolve(b, other))
    return false;
  const fs::path first = fs::weakly_canonical(fs::absolute(one.path, error), error),
                 second = fs::weakly_canonical(fs::absolute(other.path, otherError), otherError);
  return !error && !otherError && first == second;
}

bool updraft::files::isSameFile(const std::string &a, const std::string &b) {
  struct stat first, second;
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}
