//===- Reproducer.h - A file that shows a failure of a pass -------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_REPRODUCER_H
#define UPDRAFT_LIB_DRIVER_REPRODUCER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <string>

namespace updraft {

/// Writes a module with the pipeline that fails on it, for `updraft-opt --run-reproducer`. Writes
/// into `folder`, or into the system's folder for temporary files if it is empty. Returns the path,
/// or "" if the file could not be written.
std::string writeReproducer(mlir::ModuleOp module, mlir::PassManager &passes,
                            llvm::StringRef folder);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_REPRODUCER_H
