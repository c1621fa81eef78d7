//===- Numerics.h - The ways in which a rule's arithmetic may round -----------------*- C++ -*-===//

#ifndef UPDRAFT_FRONTEND_NUMERICS_H
#define UPDRAFT_FRONTEND_NUMERICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace updraft {

/// The name that every expression of the language knows as the request's mode, a string.
constexpr llvm::StringLiteral numericsName = "numerics";

/// The mode whose rules `updraft-relax` may rewrite.
constexpr llvm::StringLiteral fastNumerics = "fast";

/// The modes; docs/numerics.md defines them.
llvm::ArrayRef<llvm::StringRef> numericsModes();

} // namespace updraft

#endif // UPDRAFT_FRONTEND_NUMERICS_H
