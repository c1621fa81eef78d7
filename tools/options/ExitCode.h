//===- ExitCode.h - Exit codes of the tools -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_OPTIONS_EXITCODE_H
#define UPDRAFT_TOOLS_OPTIONS_EXITCODE_H

#include "updraft-c/types.h"

namespace updraft {

/// 0: success. 1: an error in the rule, the request or the tensors. 2: a file could not be read or
/// written. 3: a bug in Updraft. CLI11 exits with 100 and above for errors in the command line.
inline int exitCodeOf(upd_status status) {
  switch (status) {
  case UPD_OK:
    return 0;
  case UPD_NOT_FOUND: // a file
  case UPD_IO_ERROR:
    return 2;
  case UPD_INTERNAL_ERROR:
    return 3;
  default:
    return 1;
  }
}

} // namespace updraft

#endif // UPDRAFT_TOOLS_OPTIONS_EXITCODE_H
