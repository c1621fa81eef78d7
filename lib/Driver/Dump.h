//===- Dump.h - What a compilation was after every pass -----------------------------*- C++ -*-===//
// Files in one folder, numbered in the order in which they are made.

#ifndef UPDRAFT_LIB_DRIVER_DUMP_H
#define UPDRAFT_LIB_DRIVER_DUMP_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "updraft/Driver/CompileRequest.h"
#include "llvm/Support/Error.h"

namespace updraft {

class Dump {
public:
  /// An empty folder is no dump: nothing is written.
  explicit Dump(std::string folder) : folder(std::move(folder)) {}

  bool isWanted() const { return !folder.empty(); }

  /// Writes `NN-name`; the folder is made if it is missing. Only the first failure counts.
  void write(llvm::StringRef name, llvm::function_ref<void(llvm::raw_ostream &)> print);
  void write(llvm::StringRef name, mlir::ModuleOp module);

  /// Why a file could not be written.
  llvm::Error takeError();

private:
  std::string folder;
  unsigned count = 0;
  std::string failure;
};

/// Writes the module after every pass to the dump that `current` is at that time; null for none.
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

/// The request's folder, or one for this rule with these settings in that of the environment.
std::string dumpFolderOf(const Program &program, const CompileRequest &request,
                         llvm::StringRef rule);

/// How modules are printed: values are called as in the source; with locations, if they are wanted,
/// beside each operation.
mlir::OpPrintingFlags printingFlags(bool locations);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_DUMP_H
