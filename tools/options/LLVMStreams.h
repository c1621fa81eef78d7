//===- LLVMStreams.h - The same for tools that write by LLVM's streams --------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_OPTIONS_LLVMSTREAMS_H
#define UPDRAFT_TOOLS_OPTIONS_LLVMSTREAMS_H

#include "tools/options/StandardStreams.h"
#include "llvm/Support/raw_ostream.h"

namespace updraft {

/// As watchStandardOutput(), which such a tool need not call, for llvm::outs() too. LLVM checks
/// both streams when it destroys them, and ends the process with another exit code if one of them
/// could not be written. Messages that are lost leave the exit code as it is.
inline void watchLLVMStreams() {
  watchStandardOutput();
  llvm::outs(); // destroyed after the function below has run
  llvm::errs();
  static_cast<void>(std::atexit([] {
    llvm::errs().clear_error();
    llvm::raw_fd_ostream &os = llvm::outs();
    os.flush();
    if (!os.has_error())
      return;
    const std::string reason = os.error().message();
    os.clear_error();
    endWithoutOutput(reason.c_str());
  }));
}

} // namespace updraft

#endif // UPDRAFT_TOOLS_OPTIONS_LLVMSTREAMS_H
