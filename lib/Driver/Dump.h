//===- Dump.h - Dumps a compilation after every pass --------------------------------*- C++ -*-===//
// Files in one folder, numbered in the order of their creation.

#ifndef UPDRAFT_LIB_DRIVER_DUMP_H
#define UPDRAFT_LIB_DRIVER_DUMP_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "updraft/Driver/CompileRequest.h"
#include "llvm/Support/Error.h"

namespace updraft {

class Dump {
public:
  /// With an empty folder, nothing is written.
  explicit Dump(std::string folder) : folder(std::move(folder)) {}

  bool isWanted() const { return !folder.empty(); }

  /// Writes `NN-name`; creates the folder if needed. Only the first failure is reported.
  void write(llvm::StringRef name, llvm::function_ref<void(llvm::raw_ostream &)> print);
  void write(llvm::StringRef name, mlir::ModuleOp module);

  /// Returns why a file could not be written.
  llvm::Error takeError();

private:
  std::string folder;
  unsigned count = 0;
  std::string failure;
};

/// Writes the module after every pass to the dump that `current` refers to at that time, unless
/// null.
class DumpAfterPasses : public mlir::PassInstrumentation {
public:
  explicit DumpAfterPasses(Dump *const &current) : current(current) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override { write(pass, op, ""); }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override {
    write(pass, op, "-failed");
  }

private:
  void write(mlir::Pass *pass, mlir::Operation *op, llvm::StringRef suffix);

  Dump *const &current;
};

/// Returns the request's folder, or a subfolder of the environment's for this rule and its
/// settings.
std::string dumpFolderOf(const Program &program, const CompileRequest &request,
                         llvm::StringRef rule);

/// Prints values under their source names. With `locations`, prints the location of each operation.
mlir::OpPrintingFlags printingFlags(bool locations);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_DUMP_H
