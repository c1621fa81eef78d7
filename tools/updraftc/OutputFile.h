//===- OutputFile.h - Writing the result of a command -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFTC_OUTPUTFILE_H
#define UPDRAFT_TOOLS_UPDRAFTC_OUTPUTFILE_H

#include "updraft/Driver/CompileRequest.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace updraft {

/// Writes the output of `produce` to the file, or to stdout for "-". Writes only complete output.
llvm::Error writeTo(const std::string &path,
                    llvm::function_ref<llvm::Error(llvm::raw_ostream &)> produce);

/// Refuses an output file, of an option such as "-o", that is also an input.
llvm::Error checkOutput(llvm::StringRef option, const std::string &output,
                        const CompileRequest &request);

} // namespace updraft

#endif // UPDRAFT_TOOLS_UPDRAFTC_OUTPUTFILE_H
