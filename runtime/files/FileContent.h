//===- FileContent.h - Reads a whole file -------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_FILES_FILECONTENT_H
#define UPDRAFT_RUNTIME_FILES_FILECONTENT_H

#include <cstddef>
#include <string>

namespace updraft::files {

/// Reads a file, a pipe or a device to its end. Returns 0 or an errno value: EFBIG if there are
/// more than `maxBytes`. On an error, `content` is unspecified.
int readFile(const std::string &path, size_t maxBytes, std::string &content);

} // namespace updraft::files

#endif // UPDRAFT_RUNTIME_FILES_FILECONTENT_H
