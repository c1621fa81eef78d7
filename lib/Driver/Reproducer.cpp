//===- Reproducer.cpp - A file that shows a failure of a pass ---------------------------------===//
// Like mlir::makeReproducer, which ends the process if the file cannot be written.

#include "Reproducer.h"

#include "mlir/IR/AsmState.h"
#include "runtime/files/FileReplacement.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace updraft;

static std::string printed(mlir::ModuleOp module, mlir::PassManager &passes) {
  std::string pipeline, text;
  llvm::raw_string_ostream pipelineStream(pipeline), os(text);
  passes.printAsTextualPipeline(pipelineStream);
  mlir::AsmState state(module);
  state.attachResourcePrinter("mlir_reproducer",
                              [&](mlir::Operation *, mlir::AsmResourceBuilder &builder) {
                                builder.buildString("pipeline", pipeline);
                                builder.buildBool("disable_threading", true);
                                builder.buildBool("verify_each", true);
                              });
  module->print(os, state);
  return text;
}

std::string updraft::writeReproducer(mlir::ModuleOp module, mlir::PassManager &passes,
                                     llvm::StringRef folder) {
  llvm::SmallString<128> path(folder);
  if (folder.empty()) {
    int descriptor;
    if (llvm::sys::fs::createTemporaryFile("updraft-reproducer", "mlir", descriptor, path))
      return "";
    llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
  } else {
    llvm::sys::path::append(path, "reproducer.mlir");
    if (llvm::sys::fs::create_directories(folder))
      return "";
  }
  std::string file = path.str().str();
  if (!files::writeFile(file, printed(module, passes)))
    return file;
  if (folder.empty())
    llvm::sys::fs::remove(file);
  return "";
}
