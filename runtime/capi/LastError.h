//===- LastError.h - The message behind upd_last_error ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CAPI_LASTERROR_H
#define UPDRAFT_RUNTIME_CAPI_LASTERROR_H

#include "updraft-c/types.h"

#include <string>

namespace updraft::capi {

/// Stores the calling thread's message and returns `status`. Never throws: if there is no memory
/// for the message, it is lost.
upd_status fail(upd_status status, const std::string &message) noexcept;

/// `fail` with what is said of the exception that is being handled.
upd_status failByException() noexcept;

/// Runs `body`, which returns a upd_status, and turns exceptions into one.
template <typename Body> upd_status guarded(Body &&body) noexcept {
  try {
    return body();
  } catch (...) {
    return failByException();
  }
}

} // namespace updraft::capi

#endif // UPDRAFT_RUNTIME_CAPI_LASTERROR_H
