//===- RunPasses.h - LLVM's code generation, with errors as results -----------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_TARGET_RUNPASSES_H
#define UPDRAFT_LIB_TARGET_RUNPASSES_H

#include "llvm/Support/Error.h"

namespace llvm {
class Module;
namespace legacy {
class PassManager;
} // namespace legacy
} // namespace llvm

namespace updraft {

/// Runs passes that generate code. Returns the first error that LLVM reports, for example that the
/// target has no library function for an operation. LLVM's default handler would exit the process.
/// After an error, the passes' output is not valid. Errors that LLVM treats as fatal still end the
/// process.
llvm::Error runPasses(llvm::legacy::PassManager &passes, llvm::Module &module);

} // namespace updraft

#endif // UPDRAFT_LIB_TARGET_RUNPASSES_H
