//===- Aside.h - Files that are complete before they get their name -----------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_FILES_ASIDE_H
#define UPDRAFT_RUNTIME_FILES_ASIDE_H

#include <string>
#include <string_view>
#include <sys/stat.h>

namespace updraft::files {

/// Creates a file for writing, with a unique name, in the folder `parent`, which is relative to the
/// open folder `base` (or AT_FDCWD). Returns its descriptor and sets `path` to `parent` with the
/// name. Returns -1 with errno set on failure.
int createAside(int base, const std::string &parent, mode_t mode, std::string &path);

/// Whether a name has the form of createAside().
bool isAsideName(std::string_view name);

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_ASIDE_H
