//===- MatrixFunctions.h - Operands of functions of whole matrices ------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_MATRIXFUNCTIONS_H
#define UPDRAFT_IR_MATRIXFUNCTIONS_H

#include "Updraft/IR/UpdraftEnums.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace updraft {

/// The number of operands of a function: a matrix or a vector, and for some a second one.
unsigned operandCount(MatrixFunction function);

/// Whether the first operand must be square: for all that move no rows or columns.
bool takesSquare(MatrixFunction function);

/// Whether the function makes a matrix of chosen rows or columns.
bool isGather(MatrixFunction function);

/// Whether the first operand must be a matrix of chosen rows or columns.
bool isScatter(MatrixFunction function);

/// Whether the function sorts or chooses rows, not columns.
bool isOfRows(MatrixFunction function);

/// The extent of the first operand of a function that gathers or scatters.
Extent firstExtentOf(MatrixFunction function);

/// Whether only a rule or plan with `chosen` has the function.
bool usesChosen(MatrixFunction function);

/// The extent of the values by which `function` sorts or chooses the rows or columns of a matrix.
Extent keysOf(MatrixFunction function, Extent matrix);

/// Returns the extent of the values of a function of operands over `operands`, of which there are
/// as many as it takes.
Extent extentOfApplied(MatrixFunction function, llvm::ArrayRef<Extent> operands);

/// Describes the constraint of `updraft.apply` that the operands break; empty if there is none.
std::string problemOfApplied(MatrixFunction function, llvm::ArrayRef<Extent> operands);

} // namespace updraft

#endif // UPDRAFT_IR_MATRIXFUNCTIONS_H
