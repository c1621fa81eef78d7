//===- TrustedPath.cpp - Opens a folder that nobody else can replace --------------------------===//

#include "runtime/files/TrustedPath.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace updraft::files;

namespace {
constexpr mode_t writableByOthers = S_IWGRP | S_IWOTH;

class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  int get() const { return number; }
  int release() { return std::exchange(number, -1); }
  void reset(int next) {
    if (number >= 0)
      ::close(number);
    number = next;
  }

private:
  int number;
};

/// Walks from the root to a folder. Opens each component and checks it through its descriptor, so
/// that it can't change in between.
class Walk {
public:
  Walk(IfMissing ifMissing, std::string &reason)
      : ifMissing(ifMissing), reason(reason), current(-1) {
    reason.clear();
  }

  int open(const std::string &path) {
    if (!push(path) || !enterRoot())
      return -1;
    while (!pending.empty()) {
      const std::string name = std::move(pending.back());
      pending.pop_back();
      if (!name.empty() && name != "." && !enter(name))
        return -1;
    }
    return openEnd();
  }

private:
  bool refuse(const std::string &why) {
    reason = why;
    return false;
  }
  bool refuseWithError(const std::string &path) {
    return refuse("`" + path + "`: " + std::strerror(errno));
  }

  /// Adds the components of a path before the pending ones. A relative path starts at the working
  /// directory.
  bool push(std::string path) {
    if (path.empty() || path.front() != '/') {
      char folder[PATH_MAX];
      if (!::getcwd(folder, sizeof(folder)))
        return refuseWithError(path);
      path = std::string(folder) + "/" + path;
    }
    pushComponents(path);
    return true;
  }

  void pushComponents(const std::string &path) {
    size_t end = path.size();
    while (end != std::string::npos) {
      const size_t slash = end == 0 ? std::string::npos : path.rfind('/', end - 1);
      const size_t begin = slash == std::string::npos ? 0 : slash + 1;
      pending.push_back(path.substr(begin, end - begin));
      end = slash;
    }
  }

  bool enterRoot() {
    current.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    at.clear();
    struct stat status;
    if (current.get() < 0 || ::fstat(current.get(), &status) != 0)
      return refuseWithError("/");
    return checkMode(status);
  }

  bool enter(const std::string &name) {
    const std::string path = at + "/" + name;
    Descriptor next(openComponent(name));
    struct stat status;
    if (next.get() < 0)
      return errno == ENOENT ? false : refuseWithError(path);
    if (::fstat(next.get(), &status) != 0)
      return refuseWithError(path);
    if (S_ISLNK(status.st_mode))
      return follow(next.get(), status, path);
    if (!S_ISDIR(status.st_mode))
      return refuse("`" + path + "` is not a folder");
    current.reset(next.release());
    at = path;
    return checkFolder(status);
  }

  int openComponent(const std::string &name) {
    constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    const int found = ::openat(current.get(), name.c_str(), flags);
    if (found >= 0 || errno != ENOENT || ifMissing == IfMissing::Fail)
      return found;
    // Another process may create it at the same time.
    if (::mkdirat(current.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
      return -1;
    return ::openat(current.get(), name.c_str(), flags);
  }

  /// Anybody can create links in a sticky folder.
  bool follow(int link, const struct stat &status, const std::string &path) {
    constexpr int maxLinks = 40; // as in Linux
    if (!isTrustedOwner(status.st_uid))
      return refuseOwner(path, status.st_uid);
    char text[PATH_MAX];
    const ssize_t length = ::readlinkat(link, "", text, sizeof(text));
    if (length < 0)
      return refuseWithError(path);
    if (++links > maxLinks) {
      errno = ELOOP;
      return refuseWithError(path);
    }
    pushComponents(std::string(text, static_cast<size_t>(length)));
    return text[0] == '/' ? enterRoot() : true;
  }

  static bool isTrustedOwner(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

  static bool isPrivateGroup(gid_t group) {
    return group == ::getegid() && group == static_cast<gid_t>(::geteuid());
  }

  bool checkFolder(const struct stat &status) {
    return isTrustedOwner(status.st_uid) ? checkMode(status) : refuseOwner(place(), status.st_uid);
  }

  bool checkMode(const struct stat &status) {
    isEndOwn = isOwn(status.st_uid, status.st_mode);
    end = status;
    mode_t others = status.st_mode & writableByOthers;
    if (isPrivateGroup(status.st_gid))
      others &= ~static_cast<mode_t>(S_IWGRP);
    if (others != 0 && !(status.st_mode & S_ISVTX))
      return refuseMode(place(), status.st_mode);
    return true;
  }

  bool refuseOwner(const std::string &path, uid_t owner) {
    return refuse("`" + path + "` belongs to another user (uid " + std::to_string(owner) +
                  "); use a folder of your own");
  }

  bool refuseMode(const std::string &path, mode_t mode) {
    char octal[8];
    std::snprintf(octal, sizeof(octal), "%04o", static_cast<unsigned>(mode & 07777));
    return refuse("other users may write to `" + path + "` (mode " + octal +
                  "); use a folder that only you can write to, or `chmod go-w` this one");
  }

  std::string place() const { return at.empty() ? "/" : at; }

  int openEnd() {
    if (!isEndOwn) {
      if (end.st_uid != ::geteuid())
        refuseOwner(place(), end.st_uid);
      else
        refuseMode(place(), end.st_mode);
      return -1;
    }
    const int folder = ::openat(current.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
      refuseWithError(place());
    return folder;
  }

  IfMissing ifMissing;
  std::string &reason;
  Descriptor current;
  std::string at;                   // path of `current`; empty for the root
  std::vector<std::string> pending; // the next one is last
  struct stat end{};                // status of `current`
  bool isEndOwn = false;
  int links = 0;
};
} // namespace

bool updraft::files::isOwn(unsigned owner, unsigned mode) {
  return owner == ::geteuid() && !(mode & writableByOthers);
}

int updraft::files::openTrusted(const std::string &path, IfMissing ifMissing, std::string &reason) {
  return Walk(ifMissing, reason).open(path);
}
