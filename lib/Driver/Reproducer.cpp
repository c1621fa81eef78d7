//===- Reproducer.cpp - A file that shows a failure of a pass ---------------------------------===//

#include "Reproducer.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace updraft;

std::string updraft::writeReproducer(mlir::ModuleOp module, mlir::PassManager &passes,
                                     llvm::StringRef folder) {
  llvm::SmallString<128> path(folder);
  int descriptor;
  std::error_code error;
  if (folder.empty()) {
    error = llvm::sys::fs::createTemporaryFile("updraft-reproducer", "mlir", descriptor, path);
  } else {
    llvm::sys::path::append(path, "reproducer.mlir");
    error = llvm::sys::fs::create_directories(folder);
    if (!error)
      error = llvm::sys::fs::openFileForWrite(path, descriptor);
  }
  if (error)
    return "";
  // Only to know that it can be written: what follows has no errors.
  llvm::sys::fs::file_t file = llvm::sys::fs::convertFDToNativeFile(descriptor);
  llvm::sys::fs::closeFile(file);
  mlir::makeReproducer(passes.getOpAnchorName(), passes.getPasses(), module, path,
                       /*disableThreads=*/true, /*verifyPasses=*/true);
  return path.str().str();
}
