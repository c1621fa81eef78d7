//===- ToLLVM.cpp - The conversion to the LLVM dialect, on every target -----------------------===//

#include "ToLLVM.h"

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace updraft {

void populateToLLVMPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false,
                                       /*benefit=*/2);
  populateVectorToLLVMConversionPatterns(converter, patterns);
}

LogicalResult convertToLLVM(Operation *op, const FrozenRewritePatternSet &patterns,
                            ConversionTarget &target) {
  target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                           math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                           UpdraftDialect>();
  // LLVM folds later.
  ConversionConfig config;
  config.foldingMode = DialectConversionFoldingMode::Never;
  return applyPartialConversion(op, target, patterns, config);
}

} // namespace updraft
