//===- ToLLVM.h - The conversion to the LLVM dialect, on every target ---------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CONVERSION_TOLLVM_H
#define UPDRAFT_LIB_CONVERSION_TOLLVM_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace updraft {

/// Adds patterns for `arith`, `cf`, `func`, `math`, `scf` and `vector`. The patterns of `math`
/// operations that LLVM rounds correctly have priority over others.
void populateToLLVMPatterns(const mlir::LLVMTypeConverter &converter,
                            mlir::RewritePatternSet &patterns);

/// Adds patterns and the type conversion for the operations that access memory:
/// `updraft.locate`, `scratch`, `shift`, `read`, `write` and `prefetch`.
void populateAccessToLLVMPatterns(mlir::LLVMTypeConverter &converter,
                                  mlir::RewritePatternSet &patterns);

/// Converts these dialects, `updraft` and everything else that is illegal in `target`, in one
/// conversion.
mlir::LogicalResult convertToLLVM(mlir::Operation *op,
                                  const mlir::FrozenRewritePatternSet &patterns,
                                  mlir::ConversionTarget &target);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_TOLLVM_H
