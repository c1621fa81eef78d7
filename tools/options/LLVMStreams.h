//===- LLVMStreams.h - StandardStreams.h for tools that use LLVM's streams ----------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_OPTIONS_LLVMSTREAMS_H
#define UPDRAFT_TOOLS_OPTIONS_LLVMSTREAMS_H

#include "tools/options/StandardStreams.h"
#include "llvm/Support/raw_ostream.h"

namespace updraft {

/// Does the same as watchStandardOutput() for llvm::outs() too, so such a tool doesn't call both.
/// LLVM checks both streams when it destroys them, and changes the exit code of the process if a
/// write to one failed. A message that is lost on stderr doesn't change the exit code.
inline void watchLLVMStreams() {
  watchStandardOutput();
  llvm::outs(); // destroyed after the function below runs
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
