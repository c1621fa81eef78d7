//===- PassObserver.h - Watches a compilation after every pass ----------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_PASSOBSERVER_H
#define UPDRAFT_LIB_DRIVER_PASSOBSERVER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace updraft {

class PassObserver {
public:
  virtual ~PassObserver() = default;

  virtual void beforePass() {}
  virtual void afterPass(llvm::StringRef pass, bool failed, mlir::ModuleOp module) = 0;
};

/// Calls the observers that the list has at that time.
class ObservePasses : public mlir::PassInstrumentation {
public:
  explicit ObservePasses(const std::vector<PassObserver *> &observers) : observers(observers) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override { after(pass, op, false); }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override { after(pass, op, true); }

private:
  void after(mlir::Pass *pass, mlir::Operation *op, bool failed);

  const std::vector<PassObserver *> &observers;
};

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_PASSOBSERVER_H
