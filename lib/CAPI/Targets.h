//===- Targets.h - Names of targets in upd_compile_options --------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CAPI_TARGETS_H
#define UPDRAFT_LIB_CAPI_TARGETS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace updraft::capi {

/// Replaces "cuda" and "cuda:1" by the architecture of that GPU, and returns other names unchanged.
/// Fails for targets that rules can be compiled for, but that can't run in this process.
llvm::Expected<std::string> targetNamed(llvm::StringRef name);

} // namespace updraft::capi

#endif // UPDRAFT_LIB_CAPI_TARGETS_H
