//===- Builtins.h - Functions that map to operations --------------------------------*- C++ -*-===//
// The functions that map to one operation of `arith` or `math`. All others are written in the
// language, in rules/std.

#ifndef UPDRAFT_LIB_FRONTEND_BUILTINS_H
#define UPDRAFT_LIB_FRONTEND_BUILTINS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace updraft {

enum class BuiltinKind : uint8_t {
  Abs,
  Ceil,
  Exp,
  Floor,
  Fma,
  Log,
  Max,
  Min,
  Pow,
  Rounded, ///< to the compute type
  Sqrt,
  Tanh,
};

struct Builtin {
  llvm::StringRef name;
  unsigned arity;
  BuiltinKind kind;
};

llvm::ArrayRef<Builtin> builtins();

/// Returns null if there is no such function.
const Builtin *findBuiltin(llvm::StringRef name);

/// The largest magnitude of a constant exponent that is expanded to multiplications.
constexpr int maxExpandedExponent = 16;

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_BUILTINS_H
