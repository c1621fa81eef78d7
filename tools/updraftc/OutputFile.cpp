//===- OutputFile.cpp - Writing the result of a command ---------------------------------------===//

#include "OutputFile.h"

#include "runtime/files/FileReplacement.h"
#include "updraft/Driver/Compiler.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

using namespace updraft;

llvm::Error updraft::writeTo(const std::string &path,
                             llvm::function_ref<llvm::Error(llvm::raw_ostream &)> produce) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::Error error = produce(os))
    return error;
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return llvm::Error::success();
  }
  if (files::Failure failure = files::writeFile(path, text))
    return makeError(UPD_IO_ERROR, "cannot write `" + path + "`: " + *failure);
  return llvm::Error::success();
}

llvm::Error updraft::checkOutput(llvm::StringRef option, const std::string &output,
                                 const CompileRequest &request) {
  if (output == "-")
    return llvm::Error::success();
  auto program = Compiler::parse(request);
  if (!program)
    return program.takeError();
  for (const auto &source : (*program)->files()) {
    const bool isInput = source->path() == "-";
    if (files::isSameFile(isInput ? "/dev/stdin" : source->path(), output))
      return makeError(UPD_INVALID_ARGUMENT,
                       ("`" + option + "` names the rule's own file `").str() + source->path() +
                           "`; name another file");
  }
  return llvm::Error::success();
}
