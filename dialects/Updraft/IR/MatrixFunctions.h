//===- MatrixFunctions.h - Operands of functions of whole matrices ------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_MATRIXFUNCTIONS_H
#define UPDRAFT_IR_MATRIXFUNCTIONS_H

#include "Updraft/IR/UpdraftEnums.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace updraft {

/// The number of operands of a function: a matrix, and for some a second matrix or a vector.
unsigned operandCount(MatrixFunction function);

/// Whether the first operand must be square: all but the sorts.
bool takesSquare(MatrixFunction function);

/// The extent of the values that `function` sorts the rows or columns of a matrix by.
Extent keysOf(MatrixFunction function, Extent matrix);

/// Returns the extent of the values of a function of operands over `operands`, of which there are
/// as many as it takes.
Extent extentOfApplied(MatrixFunction function, llvm::ArrayRef<Extent> operands);

/// Describes the constraint of `updraft.apply` that the operands break; empty if there is none.
std::string problemOfApplied(MatrixFunction function, llvm::ArrayRef<Extent> operands);

} // namespace updraft

#endif // UPDRAFT_IR_MATRIXFUNCTIONS_H
