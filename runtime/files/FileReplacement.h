//===- FileReplacement.h - Atomic replacement of a file -----------------------------*- C++ -*-===//
// For files of which the user may have a good version. A full disk, an error or a kill leaves the
// old file unchanged.

#ifndef UPDRAFT_RUNTIME_FILES_FILEREPLACEMENT_H
#define UPDRAFT_RUNTIME_FILES_FILEREPLACEMENT_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace updraft::files {

/// The reason why a file can't be written, for "cannot write `FILE`: REASON". Empty on success.
using Failure = std::optional<std::string>;

/// How to treat other names (hard links) of a replaced file.
enum class OtherNames {
  /// They keep the old content, as after a linker: for output. A snapshot or build cache made of
  /// hard links doesn't change.
  KeepOld,
  /// Refuses the file: for text that is edited, whose other names should show the edit. Writing
  /// through all names would mean writing in place, which an error could leave incomplete.
  Refuse,
};

enum class Synced { Yes, No };

/// Writes a file aside, in the same folder, and renames it to `path` once it is complete. For a
/// symbolic link, replaces its target and keeps the link. The new file has the mode of the old one
/// and, as far as permitted, its owner and group. Refuses read-only files (even for root, like an
/// editor), files that aren't regular, mount points, and files in folders that aren't writable.
class FileReplacement {
public:
  explicit FileReplacement(std::string path, OtherNames otherNames = OtherNames::KeepOld,
                           Synced synced = Synced::Yes);
  /// Leaves everything unchanged unless the file was published.
  ~FileReplacement();
  FileReplacement(const FileReplacement &) = delete;
  FileReplacement &operator=(const FileReplacement &) = delete;

  /// Call this first. Checks that the file can be replaced: call it before spending hours on the
  /// content.
  Failure open();
  Failure write(const void *data, size_t bytes);
  /// On success, the file is on the disk under its name.
  Failure publish();

private:
  struct Target;
  friend Failure checkWritable(const std::string &path);
  friend Failure writeFile(const std::string &path, std::string_view bytes, OtherNames otherNames,
                           Synced synced);
  friend bool wouldBeSameFile(const std::string &a, const std::string &b);

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

/// Whether writeFile could write `path` now: call it before spending hours on the content. Has no
/// side effects.
Failure checkWritable(const std::string &path);

/// Writes `bytes` with a FileReplacement, or directly if the file isn't regular (a pipe,
/// /dev/stdout).
Failure writeFile(const std::string &path, std::string_view bytes,
                  OtherNames otherNames = OtherNames::KeepOld, Synced synced = Synced::Yes);

/// Whether both paths name the same existing file, regardless of spelling.
bool isSameFile(const std::string &a, const std::string &b);

/// The same, but the file may be missing. False for pipes and devices, which several outputs may
/// share.
bool wouldBeSameFile(const std::string &a, const std::string &b);

/// Returns false with errno set if a write failed.
bool writeAll(int descriptor, std::string_view bytes);

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_FILEREPLACEMENT_H
