//===- Passes.h - Passes from plan to target ----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_CONVERSION_PASSES_H
#define UPDRAFT_CONVERSION_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "updraft/Conversion/Product.h"

namespace updraft {

#define GEN_PASS_DECL
#include "updraft/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "updraft/Conversion/Passes.h.inc"

} // namespace updraft

#endif // UPDRAFT_CONVERSION_PASSES_H
