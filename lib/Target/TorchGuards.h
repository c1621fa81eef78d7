//===- TorchGuards.h - Guards for gradients in a rule -------------------------------*- C++ -*-===//
// `torch.where` passes the gradient 0 to a side that is not taken, and autograd multiplies it by
// the derivatives of that side's operations. With an infinite derivative, such as that of a root at
// 0, the result is NaN. Operands of such operations are therefore replaced by 1 wherever only 0
// flows back. Other uses of the same value, such as a comparison, are computed separately from the
// original operands.

#ifndef UPDRAFT_LIB_TARGET_TORCHGUARDS_H
#define UPDRAFT_LIB_TARGET_TORCHGUARDS_H

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/UpdraftOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <deque>
#include <map>
#include <tuple>

namespace updraft::torch {

/// One decision that determines whether a gradient flows.
struct Choice {
  /// A condition, or the result of an operation that returns one of its operands, such as a
  /// maximum.
  mlir::Value of;
  /// 1 if the condition holds, else 0; or the index of the returned operand.
  unsigned which = 0;

  bool isCondition() const { return of.getType().isInteger(1); }
};

/// The condition under which a gradient flows to a value. Its extent is within that of the value.
struct Guard {
  enum Kind { Always, Chosen, Either, Anywhere };
  Kind kind;
  /// Chosen: a guard that must hold too. Anywhere: a guard that must hold somewhere in each value
  /// of the extent.
  const Guard *outer = nullptr;
  Choice choice = {};                             ///< of Chosen
  llvm::SmallVector<const Guard *, 0> parts = {}; ///< of Either
  Extent extent = Extent::model;
  unsigned number = 0; ///< larger than those of the guards it refers to
};

/// Whether autograd continues from the operation's result to the operand.
bool passesGradient(mlir::OpOperand &operand);

/// The guards of the values in one function of the printed module.
class Guards {
public:
  /// `needed` holds the operations that `roots` depend on, `given` those whose results are
  /// arguments. If `skip` holds, no root is used.
  Guards(llvm::ArrayRef<mlir::Value> roots, mlir::Value skip,
         const llvm::DenseSet<mlir::Operation *> &needed, llvm::DenseSet<mlir::Operation *> given);

  /// Returns where the operand keeps its value to keep gradients finite; null if it does so
  /// everywhere.
  const Guard *replacement(mlir::OpOperand &operand) const { return replacements.lookup(&operand); }

  /// If the operand of a maximum or minimum is replaced somewhere where its value is needed,
  /// returns the guard under which gradients flow to it; else null.
  const Guard *merge(mlir::OpOperand &operand) const { return merges.lookup(&operand); }

  /// Whether gradients use a separate computation of the value, which may differ where no gradient
  /// flows.
  bool differs(mlir::Value value) const { return differing.contains(value); }

  /// From now on, every value computed from a replaced one differs, even if gradients flow to it
  /// everywhere and the values are equal. For rules in which values are needed for their own
  /// guards.
  void keepPlain() { findDiffering(/*everywhere=*/true); }

private:
  using ByValue = llvm::DenseMap<mlir::Value, const Guard *>;

  const Guard *make(Guard guard);
  const Guard *chosen(const Guard *outer, Choice choice, Extent extent);
  const Guard *either(llvm::ArrayRef<const Guard *> parts);
  const Guard *within(const Guard *guard, Extent extent);
  ByValue find(llvm::ArrayRef<mlir::Value> roots, mlir::Value skip, bool withExtremes);
  llvm::BitVector lookedAtBy(Choice choice) const;
  bool looksAt(const Guard *guard, mlir::Value value);
  bool isClean(mlir::Value value, const Guard *under) const;
  void findDifferentiable();
  void findReplacements();
  void findDiffering(bool everywhere);

  llvm::SmallVector<mlir::Operation *> operations; ///< in the order of the rule
  llvm::DenseSet<mlir::Operation *> given;
  ExtentAnalysis extents;
  std::deque<Guard> made;
  std::map<std::tuple<int, const Guard *, const void *, unsigned, std::vector<const Guard *>>,
           const Guard *>
      known;
  const Guard *always;
  /// By select only, and including operations that return the largest or smallest operand.
  ByValue byConditions, byAll;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers; ///< in `operations`
  mlir::Value skip;
  llvm::DenseSet<mlir::Value> differentiable;              ///< depend on values with gradients
  llvm::DenseMap<const Guard *, llvm::BitVector> lookedAt; ///< operations, by index
  llvm::DenseSet<mlir::Value> clean;                       ///< finite if no gradient flows to them
  llvm::DenseSet<mlir::Value> differing;
  llvm::DenseMap<mlir::OpOperand *, const Guard *> replacements, merges;
};

} // namespace updraft::torch

#endif // UPDRAFT_LIB_TARGET_TORCHGUARDS_H
