//===- Version.cpp - Versions and the identity of this build ----------------------------------===//

#include "updraft/Driver/Version.h"

#include "updraft/Driver/BuildId.inc"
#include "llvm/Config/llvm-config.h"

using namespace updraft;

llvm::StringRef updraft::versionString() {
  return "updraft " UPDRAFT_VERSION_STRING " (LLVM " LLVM_VERSION_STRING ")";
}

llvm::StringRef updraft::versionNumber() { return UPDRAFT_VERSION_STRING; }

llvm::StringRef updraft::buildId() { return UPDRAFT_SOURCE_HASH "-" LLVM_VERSION_STRING; }
