//===- TargetMachine.h - LLVM's view of a target ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_TARGET_TARGETMACHINE_H
#define UPDRAFT_LIB_TARGET_TARGETMACHINE_H

#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace updraft {

/// Creates a target machine for position-independent code that preserves arithmetic. The target
/// must be registered with LLVM. Errors refer to it as `name`. Thread-safe.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeTargetMachine(llvm::StringRef name, llvm::StringRef triple, llvm::StringRef cpu,
                  llvm::StringRef features, std::optional<llvm::CodeModel::Model> model = {});

} // namespace updraft

#endif // UPDRAFT_LIB_TARGET_TARGETMACHINE_H
