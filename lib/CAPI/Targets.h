//===- Targets.h - What upd_compile_options calls targets ---------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CAPI_TARGETS_H
#define UPDRAFT_LIB_CAPI_TARGETS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace updraft::capi {

/// What "cuda" and "cuda:1" stand for, the architecture of that GPU; another name as it is. Refuses
/// what rules can be compiled for, but not run on in this process.
llvm::Expected<std::string> targetNamed(llvm::StringRef name);

} // namespace updraft::capi

#endif // UPDRAFT_LIB_CAPI_TARGETS_H
