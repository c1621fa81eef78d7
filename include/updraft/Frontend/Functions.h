//===- Functions.h - The functions and transforms that every rule knows -------------*- C++ -*-===//

#ifndef UPDRAFT_FRONTEND_FUNCTIONS_H
#define UPDRAFT_FRONTEND_FUNCTIONS_H

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace updraft {

struct KnownFunction {
  llvm::StringRef name;
  unsigned arity;
};

/// The built-in functions and those of the standard library, sorted by name and arity; `max` occurs
/// twice. Created once; thread-safe.
const std::vector<KnownFunction> &knownFunctions();

/// The names of the library's transforms, in alphabetical order. Created once; thread-safe.
const std::vector<llvm::StringRef> &knownTransforms();

} // namespace updraft

#endif // UPDRAFT_FRONTEND_FUNCTIONS_H
