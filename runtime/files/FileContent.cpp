//===- FileContent.cpp - Reads a whole file ---------------------------------------------------===//

#include "runtime/files/FileContent.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/// Reads from an open descriptor.
static int readAll(int descriptor, size_t maxBytes, std::string &content) {
  struct stat facts;
  if (::fstat(descriptor, &facts) != 0)
    return errno;
  // One byte more finds the end without another resize.
  const size_t expected = facts.st_size > 0 ? size_t(facts.st_size) + 1 : 1 << 16;
  size_t length = 0;
  content.clear();
  for (;;) {
    if (length > maxBytes)
      return EFBIG;
    if (length == content.size())
      content.resize(std::min(std::max(expected, 2 * length), maxBytes + 1));
    const ssize_t count = ::read(descriptor, content.data() + length, content.size() - length);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno;
    if (count == 0) {
      content.resize(length);
      return 0;
    }
    length += size_t(count);
  }
}

int updraft::files::readFile(const std::string &path, size_t maxBytes, std::string &content) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return errno;
  const int error = readAll(descriptor, maxBytes, content);
  ::close(descriptor);
  return error;
}
