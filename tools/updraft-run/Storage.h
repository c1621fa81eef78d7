//===- Storage.h - How the tensors of a file are stored -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_RUN_STORAGE_H
#define UPDRAFT_TOOLS_RUN_STORAGE_H

#include "TensorFile.h"

#include <map>
#include <string>
#include <string_view>

namespace updraft::run {

/// Names of storage types, by what is stored so: `param`, `grad`, or the name of a state. They are
/// constants that end with a null character.
using Storage = std::map<std::string, std::string_view>;

/// Of a tensor that has a correction beside it.
constexpr std::string_view bf16Corrected = "bf16_corrected";

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
