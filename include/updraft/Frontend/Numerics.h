//===- Numerics.h - The rounding modes of a rule's arithmetic -----------------------*- C++ -*-===//

#ifndef UPDRAFT_FRONTEND_NUMERICS_H
#define UPDRAFT_FRONTEND_NUMERICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace updraft {

/// The name by which expressions of the language refer to the request's mode, a string.
constexpr llvm::StringLiteral numericsName = "numerics";

/// The mode in which `updraft-relax` may rewrite rules.
constexpr llvm::StringLiteral fastNumerics = "fast";

/// The modes; docs/numerics.md defines them.
llvm::ArrayRef<llvm::StringRef> numericsModes();

} // namespace updraft

#endif // UPDRAFT_FRONTEND_NUMERICS_H
