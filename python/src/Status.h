//===- Status.h - From status codes to Python exceptions ----------------------------*- C++ -*-===//
// All calls of the C API go through `check`, which raises the exception class of `updraft.errors`
// for the status.
//===---------------------------------------------------------------------------------------===//

#ifndef UPDRAFT_PYTHON_STATUS_H
#define UPDRAFT_PYTHON_STATUS_H

#include "updraft-c/types.h"

namespace updraft::python {

/// Throws a Python exception with the C API's message unless `status` is UPD_OK. Must run with the
/// GIL, in the thread that made the call.
void check(upd_status status);

/// Throws the Python exception for `status` with a message of the binding.
[[noreturn]] void raise(upd_status status, const char *message);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_STATUS_H
