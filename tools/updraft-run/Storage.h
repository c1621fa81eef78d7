//===- Storage.h - How the tensors of a file are stored -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_RUN_STORAGE_H
#define UPDRAFT_TOOLS_RUN_STORAGE_H

#include "TensorFile.h"

#include <map>
#include <string>

namespace updraft::run {

/// Storage types by the names that the compiler takes: `param`, `grad`, and those of states.
using Storage = std::map<std::string, upd_dtype>;

/// What the file settles for a parameter; states that it does not have are left to the request.
Storage storageOf(const Parameter &parameter);

/// The first name that both settle differently; null if the two can be in one group.
const std::string *findDifference(const Storage &some, const Storage &others);

/// Refuses a request for another type than a tensor of the file has. One that only says how
/// values are rounded on the way into the tensor is none.
runtime::Status checkRequest(const Storage &request, const std::string &name,
                             const Parameter &parameter);

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_STORAGE_H
