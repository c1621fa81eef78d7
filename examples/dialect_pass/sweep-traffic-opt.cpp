//===- sweep-traffic-opt.cpp - Runs this example's pass, and Updraft's ------------------------===//

#include "SweepTraffic.h"
#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/Pipelines.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                  updraft::UpdraftDialect>();
  updraft::registerTransformsPasses();
  updraft::registerRulePipelines();
  sweep_traffic::registerSweepTrafficPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Reports the memory traffic of rules\n", registry));
}
