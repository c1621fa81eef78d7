//===- RuleFunctions.h - Reductions, sizes and random numbers -----------------------*- C++ -*-===//
// The functions that map to operations of the dialect rather than to arithmetic. They are known
// where a tensor is: in a rule's `update` and in the functions that it calls.

#ifndef UPDRAFT_LIB_FRONTEND_RULEFUNCTIONS_H
#define UPDRAFT_LIB_FRONTEND_RULEFUNCTIONS_H

#include "Updraft/IR/UpdraftEnums.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace updraft {

enum class RuleFunctionKind : uint8_t {
  Reduce, ///< of one argument, or of the product of two
  Size,   ///< how many values a reduction over the extent takes
  Count,  ///< how many values its argument has, in one place of the extent
  Random,
};

struct RuleFunction {
  llvm::StringRef name;
  unsigned arity;
  RuleFunctionKind kind;
  Extent over;
  ReductionKind reduction = ReductionKind::sum;

  /// Whether it speaks of rows, columns or batches, which only a matrix has.
  bool needsMatrix() const { return isOfMatrix(over); }
};

/// Whether values of extent `from`, which vary within a tensor, can be reduced to `over`.
inline bool canReduce(Extent from, Extent over) {
  return !isWithin(from, Extent::tensor) && from != over && isWithin(over, from);
}

llvm::ArrayRef<RuleFunction> ruleFunctions();

/// Null if there is none of this name. Of `max` only the one with one argument is here.
const RuleFunction *findRuleFunction(llvm::StringRef name);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_RULEFUNCTIONS_H
