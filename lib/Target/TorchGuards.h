//===- TorchGuards.h - Where gradients flow to the values of a rule -----------------*- C++ -*-===//
// `torch.where` gives a side where it is not taken the gradient 0, and autograd multiplies that by
// the derivatives of the side's operations: by an infinite one, as that of a root at 0, it becomes
// NaN. So operands of such operations are replaced by 1 wherever nothing but 0 flows back. What
// else the same value is for, such as a comparison, is computed apart, of operands as they are.

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

/// One thing that decides whether a gradient flows.
struct Choice {
  /// A condition; or the result of an operation that gives one of its operands, such as a maximum.
  mlir::Value of;
  /// 1 where the condition holds, 0 where it does not; or the number of the operand that is given.
  unsigned which = 0;

  bool isCondition() const { return of.getType().isInteger(1); }
};

/// Where a gradient flows to a value: a condition over at most what the value is spread over.
struct Guard {
  enum Kind { Always, Chosen, Either, Anywhere };
  Kind kind;
  /// Chosen: what holds as well. Anywhere: what holds somewhere in each value of the extent.
  const Guard *outer = nullptr;
  Choice choice = {};                             ///< of Chosen
  llvm::SmallVector<const Guard *, 0> parts = {}; ///< of Either
  Extent extent = Extent::model;
  unsigned number = 0; ///< larger than those of the guards that it is made of
};

/// Whether autograd goes on from the result of the operation to the operand.
bool passesGradient(mlir::OpOperand &operand);

/// The guards of the values that a function of the printed module is made of.
class Guards {
public:
  /// `needed`: the operations that `roots` are computed by; `given`: those whose results are
  /// arguments. Where `skip` holds, no root is taken.
  Guards(llvm::ArrayRef<mlir::Value> roots, mlir::Value skip,
         const llvm::DenseSet<mlir::Operation *> &needed, llvm::DenseSet<mlir::Operation *> given);

  /// Where the operand stays as it is, for gradients that are finite; null if it does everywhere.
  const Guard *replacement(mlir::OpOperand &operand) const { return replacements.lookup(&operand); }

  /// Whether the operand of a maximum or minimum is replaced somewhere where its value is needed;
  /// then where gradients flow to it. Null if it is not.
  const Guard *merge(mlir::OpOperand &operand) const { return merges.lookup(&operand); }

  /// Whether the value is computed otherwise for gradients, and may be another where none flows.
  bool differs(mlir::Value value) const { return differing.contains(value); }

  /// From now on all that is computed of something replaced differs, even where gradients flow to
  /// it everywhere and it is the same: for rules in which values are needed for their own guards.
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
  /// By select alone, and by what gives the largest or smallest as well.
  ByValue byConditions, byAll;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers; ///< in `operations`
  mlir::Value skip;
  llvm::DenseSet<mlir::Value> differentiable; ///< computed of what gradients are taken by
  llvm::DenseMap<const Guard *, llvm::BitVector> lookedAt; ///< operations, by number
  llvm::DenseSet<mlir::Value> clean; ///< finite wherever no gradient flows to them
  llvm::DenseSet<mlir::Value> differing;
  llvm::DenseMap<mlir::OpOperand *, const Guard *> replacements, merges;
};

} // namespace updraft::torch

#endif // UPDRAFT_LIB_TARGET_TORCHGUARDS_H
