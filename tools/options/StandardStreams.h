//===- StandardStreams.h - Handling of full or closed standard streams --------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_OPTIONS_STANDARDSTREAMS_H
#define UPDRAFT_TOOLS_OPTIONS_STANDARDSTREAMS_H

#include "tools/options/ExitCode.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace updraft {

/// Writes a message to stderr. If stderr is full or closed, the message is lost and the exit code
/// doesn't change. In that case fmt::print would throw, and llvm::errs() would change the exit
/// code.
inline void printMessage(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Reports the error and ends the process.
[[noreturn]] inline void endWithoutOutput(const char *reason) {
  std::fprintf(stderr, "error: cannot write the standard output: %s\n", reason);
  std::fflush(stderr);
  std::_Exit(exitCodeOf(UPD_IO_ERROR));
}

/// Flushes stdout, or ends the process.
inline void flushStandardOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return;
  // If an earlier flush failed, writes one more byte to find the reason. The output is incomplete
  // anyway.
  if (errno == 0 && ::write(STDOUT_FILENO, "\n", 1) == 1)
    errno = EIO;
  endWithoutOutput(std::strerror(errno));
}

/// Opens the closed descriptors among 0 to 2, so that no other file gets their numbers. They are
/// opened in the wrong direction, so using them fails with the same error as a closed descriptor.
inline void holdStandardStreams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      static_cast<void>(::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY));
}

/// Call this first in `main`. When the tool ends, in any way, either its output on stdout is
/// complete, or it reports the error and exits with 2.
inline void watchStandardOutput() {
  holdStandardStreams();
  static_cast<void>(std::atexit(flushStandardOutput));
}

} // namespace updraft

#endif // UPDRAFT_TOOLS_OPTIONS_STANDARDSTREAMS_H
