//===- Version.h - Versions and the identity of this build --------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_VERSION_H
#define UPDRAFT_DRIVER_VERSION_H

#include "llvm/ADT/StringRef.h"

namespace updraft {

/// "updraft 0.1.0 (LLVM 22.1.8)"; null-terminated.
llvm::StringRef versionString();
/// "0.1.0".
llvm::StringRef versionNumber();

/// A hash of the compiler's sources, the embedded standard library and LLVM's version. Machine code
/// that another build cached is not used.
llvm::StringRef buildId();

} // namespace updraft

#endif // UPDRAFT_DRIVER_VERSION_H
