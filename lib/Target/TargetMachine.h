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

/// What makes position-independent code that keeps arithmetic as it is written. The target must be
/// registered with LLVM; `name` is what errors call it. Any thread.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeTargetMachine(llvm::StringRef name, llvm::StringRef triple, llvm::StringRef cpu,
                  llvm::StringRef features, std::optional<llvm::CodeModel::Model> model = {});

} // namespace updraft

#endif // UPDRAFT_LIB_TARGET_TARGETMACHINE_H
