//===- Dump.h - Dumps a compilation after every pass --------------------------------*- C++ -*-===//
// Files in one folder, numbered in the order of their creation.

#ifndef UPDRAFT_LIB_DRIVER_DUMP_H
#define UPDRAFT_LIB_DRIVER_DUMP_H

#include "PassObserver.h"
#include "updraft/Driver/CompileRequest.h"
#include "llvm/Support/Error.h"

namespace updraft {

class Dump : public PassObserver {
public:
  /// With an empty folder, nothing is written.
  explicit Dump(std::string folder) : folder(std::move(folder)) {}

  bool isWanted() const { return !folder.empty(); }

  /// Writes `NN-name`; creates the folder if needed. Only the first failure is reported.
  void write(llvm::StringRef name, llvm::function_ref<void(llvm::raw_ostream &)> print);
  void write(llvm::StringRef name, mlir::ModuleOp module);
  void afterPass(llvm::StringRef pass, bool failed, mlir::ModuleOp module) override;

  /// Returns why a file could not be written.
  llvm::Error takeError();

private:
  std::string folder;
  unsigned count = 0;
  std::string failure;
};

/// Returns the request's folder, or a subfolder of the environment's for this rule and its
/// settings.
std::string dumpFolderOf(const Program &program, const CompileRequest &request,
                         llvm::StringRef rule);

/// Prints values under their source names. With `locations`, prints the location of each operation.
mlir::OpPrintingFlags printingFlags(bool locations);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_DUMP_H
