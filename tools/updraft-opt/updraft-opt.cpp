//===- updraft-opt.cpp - Runs the passes one by one -------------------------------------------===//
// The usual MLIR driver: reads a module, runs the passes named on the command line, prints it.

#include "Updraft/IR/UpdraftDialect.h"
#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/Pipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "updraft/Conversion/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<updraft::UpdraftDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
  mlir::registerTransformsPasses();
  updraft::registerTransformsPasses();
  updraft::registerPlanPipeline();
  updraft::registerConversionPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Updraft optimizer driver\n", registry));
}
