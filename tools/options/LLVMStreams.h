//===- LLVMStreams.h - The same for tools that write by llvm::outs() ----------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_OPTIONS_LLVMSTREAMS_H
#define UPDRAFT_TOOLS_OPTIONS_LLVMSTREAMS_H

#include "tools/options/StandardStreams.h"
#include "llvm/Support/raw_ostream.h"

namespace updraft {

/// As watchStandardOutput(), which such a tool need not call. Without it, LLVM checks the stream
/// when it destroys it, and reports an internal error.
inline void watchLLVMOutput() {
  watchStandardOutput();
  llvm::outs(); // destroyed after the function below has run
  static_cast<void>(std::atexit([] {
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
