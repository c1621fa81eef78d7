//===- Passes.h - Passes from rule to plan ------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TRANSFORMS_PASSES_H
#define UPDRAFT_TRANSFORMS_PASSES_H

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace updraft {

#define GEN_PASS_DECL
#include "Updraft/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Updraft/Transforms/Passes.h.inc"

} // namespace updraft

#endif // UPDRAFT_TRANSFORMS_PASSES_H
