//===- FileReplacement.h - Writing a file whole or not at all -----------------------*- C++ -*-===//
// Whatever a user may have a good version of is written by these: a full disk, an error or a kill
// leaves the file as it was.

#ifndef UPDRAFT_RUNTIME_FILES_FILEREPLACEMENT_H
#define UPDRAFT_RUNTIME_FILES_FILEREPLACEMENT_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace updraft::files {

/// Why a file cannot be written, to stand behind "cannot write `FILE`: "; none: it was.
using Failure = std::optional<std::string>;

/// What happens to the other names (hard links) of a file that is replaced.
enum class OtherNames {
  /// They keep the old content, as after a linker: for output. A snapshot or a build cache that is
  /// made of hard links stays as it is.
  KeepOld,
  /// The file is refused: for text that is edited, whose other names are meant to show the edit.
  /// Writing through all names would be writing in place, which an error leaves half done.
  Refuse,
};

enum class Synced { Yes, No };

/// Writes a file aside, in the same folder, and renames it over `path` once it is complete. Through
/// a symbolic link the file that it names is replaced, and the link stays. The new file has the
/// mode of the old one and, as far as permitted, its owner and group. Refused are files that are
/// read-only, also for root, as in an editor; files that are not regular; mount points; and files
/// in folders that are not writable.
class FileReplacement {
public:
  explicit FileReplacement(std::string path, OtherNames otherNames = OtherNames::KeepOld,
                           Synced synced = Synced::Yes);
  /// Unless the file was published, leaves everything as it was.
  ~FileReplacement();
  FileReplacement(const FileReplacement &) = delete;
  FileReplacement &operator=(const FileReplacement &) = delete;

  /// Before anything is written. Finds out whether the file may be replaced: call it before hours
  /// of work for the content.
  Failure open();
  Failure write(const void *data, size_t bytes);
  /// The file is on the disk and has its name afterwards.
  Failure publish();

private:
  struct Target;
  friend Failure checkWritable(const std::string &path);
  friend Failure writeFile(const std::string &path, std::string_view bytes, OtherNames otherNames,
                           Synced synced);

  static Failure resolve(std::string path, Target &target);
  Failure open(const Target &target);
  Failure makeAside(mode_t mode);
  Failure keepOwner(const struct stat &old);

  std::string path;
  std::string aside;
  OtherNames otherNames;
  Synced synced;
  int descriptor = -1;
};

/// Whether writeFile could write `path` now: to be asked before hours of work for its content.
/// Leaves no trace.
Failure checkWritable(const std::string &path);

/// Writes `bytes` by a FileReplacement; into what is not a regular file (a pipe, /dev/stdout)
/// directly.
Failure writeFile(const std::string &path, std::string_view bytes,
                  OtherNames otherNames = OtherNames::KeepOld, Synced synced = Synced::Yes);

/// Whether both paths name one existing file, however they are spelt.
bool isSameFile(const std::string &a, const std::string &b);

/// False with errno set if not all could be written.
bool writeAll(int descriptor, std::string_view bytes);

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_FILEREPLACEMENT_H
