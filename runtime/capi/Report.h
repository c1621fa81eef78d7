//===- Report.h - From the runtime's statuses to those of the C API -----------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CAPI_REPORT_H
#define UPDRAFT_RUNTIME_CAPI_REPORT_H

#include "runtime/capi/Handles.h"
#include "runtime/capi/LastError.h"

namespace updraft::capi {

/// Runs `body`, which returns a runtime::Status, and remembers its message.
template <typename Body> upd_status report(Body &&body) noexcept {
  return guarded([&] {
    runtime::Status status = body();
    return status.ok() ? UPD_OK : fail(status.code(), status.message());
  });
}

inline runtime::Status nullArgument(const char *what) {
  return runtime::invalidArgument(std::string(what) + " is null");
}

/// The same with an optimizer that may be null, for functions with one place for a result.
template <typename Handle, typename Result, typename Body>
upd_status query(Handle *optimizer, const char *resultName, Result *result, Body &&body) {
  return report([&] {
    if (!optimizer)
      return nullArgument("optimizer");
    if (!result)
      return nullArgument(resultName);
    return body(*optimizer->optimizer);
  });
}

} // namespace updraft::capi

#endif // UPDRAFT_RUNTIME_CAPI_REPORT_H
