//===- ToLLVM.h - The conversion to the LLVM dialect, on every target ---------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CONVERSION_TOLLVM_H
#define UPDRAFT_LIB_CONVERSION_TOLLVM_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace updraft {

/// Of `arith`, `cf`, `func`, `math`, `scf` and `vector`. What of `math` LLVM rounds correctly goes
/// before what another pattern would make of it.
void populateToLLVMPatterns(const mlir::LLVMTypeConverter &converter,
                            mlir::RewritePatternSet &patterns);

/// Converts these dialects, and what else `target` has as illegal, in one go.
mlir::LogicalResult convertToLLVM(mlir::Operation *op,
                                  const mlir::FrozenRewritePatternSet &patterns,
                                  mlir::ConversionTarget &target);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_TOLLVM_H
