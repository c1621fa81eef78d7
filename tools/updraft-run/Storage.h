//===- Storage.h - Storage types of the tensors of a file ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_RUN_STORAGE_H
#define UPDRAFT_TOOLS_RUN_STORAGE_H

#include "TensorFile.h"

#include <map>
#include <string>
#include <string_view>

namespace updraft::run {

/// Names of storage types, by `param`, `grad` or the name of a state. The values are constants that
/// end with a null character.
using Storage = std::map<std::string, std::string_view>;

/// The type of a tensor that has a correction.
constexpr std::string_view bf16Corrected = "bf16_corrected";

/// The types that the file sets for a parameter. The request decides for missing states.
Storage storageOf(const Parameter &parameter);

/// The first name with different types in both; null if the parameters can be in one group.
const std::string *findDifference(const Storage &some, const Storage &others);

/// Refuses a request if a tensor in the file has another type. A request that only changes how
/// values are rounded into the tensor is allowed.
runtime::Status checkRequest(const Storage &request, const std::string &name,
                             const Parameter &parameter);

} // namespace updraft::run

#endif // UPDRAFT_TOOLS_RUN_STORAGE_H
