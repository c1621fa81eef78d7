//===- CompileRequest.cpp - Reading rule files ------------------------------------------------===//

#include "updraft/Driver/CompileRequest.h"

#include "updraft/Driver/StatusError.h"
#include "updraft/Frontend/RuleText.h"
#include "updraft/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace updraft;
namespace fs = llvm::sys::fs;

llvm::Error updraft::unknownTarget(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known,
                                   llvm::Error otherwise) {
  // A number of an unknown architecture is not a spelling mistake.
  llvm::StringRef number = name;
  unsigned ignored;
  const bool isArchitecture =
      number.consume_front("nvptx:sm_") && !number.consumeInteger(10, ignored);
  std::string hint = isArchitecture ? "" : didYouMean(name, known);
  std::string listing = llvm::toString(std::move(otherwise));
  return makeError(UPD_INVALID_ARGUMENT,
                   hint.empty() ? listing : "unknown target `" + name.str() + "`" + hint);
}

llvm::Error CompileRequest::setTarget(llvm::StringRef name) {
  std::vector<llvm::StringRef> known = CPUTarget::names();
  llvm::append_range(known, GPUTarget::names());
  if (GPUTarget::isName(name)) {
    auto found = GPUTarget::named(name);
    if (!found)
      return unknownTarget(name, known, found.takeError());
    gpu = std::move(*found);
    name = "host";
  }
  auto cpu = CPUTarget::named(name);
  if (!cpu) {
    llvm::consumeError(cpu.takeError());
    return unknownTarget(name, known,
                         makeError(UPD_INVALID_ARGUMENT, "unknown target `" + name.str() +
                                                             "`; known are `" +
                                                             llvm::join(known, "`, `") + "`"));
  }
  target = std::move(*cpu);
  return llvm::Error::success();
}

llvm::Expected<std::string> updraft::readRuleFile(llvm::StringRef path) {
  auto failure = [&](llvm::Error error) {
    std::error_code code = llvm::errorToErrorCode(std::move(error));
    return makeError(code == std::errc::no_such_file_or_directory ? UPD_NOT_FOUND : UPD_IO_ERROR,
                     "cannot read `" + path.str() + "`: " + code.message());
  };
  const bool isStdin = path == "-";
  llvm::Expected<fs::file_t> file =
      isStdin ? llvm::Expected<fs::file_t>(fs::getStdinHandle()) : fs::openNativeFileForRead(path);
  if (!file)
    return failure(file.takeError());
  llvm::Expected<std::string> text = readRuleText(*file);
  if (!text)
    return failure(text.takeError());
  return text;
}
