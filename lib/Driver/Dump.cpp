//===- Dump.cpp - Dumps a compilation after every pass ----------------------------------------===//

#include "Dump.h"

#include "runtime/files/FileReplacement.h"
#include "updraft/Driver/CacheKey.h"
#include "updraft/Driver/DumpFolder.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace updraft;

std::string updraft::dumpFolderOfEnvironment() {
  return llvm::sys::Process::GetEnv("UPDRAFT_DUMP_IR").value_or("");
}

std::string updraft::dumpFolderOf(const Program &program, const CompileRequest &request,
                                  llvm::StringRef rule) {
  if (!request.inspection.dumpFolder.empty())
    return request.inspection.dumpFolder;
  std::string all = dumpFolderOfEnvironment();
  if (all.empty())
    return "";
  llvm::SmallString<128> path(all);
  llvm::sys::path::append(path, rule + "-" + cacheKey(program, request).substr(0, 8));
  return path.str().str();
}

mlir::OpPrintingFlags updraft::printingFlags(bool locations) {
  mlir::OpPrintingFlags flags;
  flags.printNameLocAsPrefix();
  if (locations)
    flags.enableDebugInfo().useLocalScope();
  return flags;
}

void Dump::write(llvm::StringRef name, llvm::function_ref<void(llvm::raw_ostream &)> print) {
  if (!isWanted() || !failure.empty())
    return;
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, llvm::formatv("{0:d2}-{1}", ++count, name).str());
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  files::Failure why;
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    why = error.message();
  else
    why = files::writeFile(path.str().str(), text, files::OtherNames::KeepOld, files::Synced::No);
  if (why)
    failure = ("cannot write `" + path + "`: " + *why).str();
}

void Dump::write(llvm::StringRef name, mlir::ModuleOp module) {
  write(name, [&](llvm::raw_ostream &os) {
    module->print(os, printingFlags(/*locations=*/true));
    os << '\n';
  });
}

llvm::Error Dump::takeError() {
  if (failure.empty())
    return llvm::Error::success();
  return makeError(UPD_IO_ERROR, std::move(failure));
}

void Dump::afterPass(llvm::StringRef pass, bool failed, mlir::ModuleOp module) {
  write((pass + (failed ? "-failed" : "") + ".mlir").str(), module);
}
