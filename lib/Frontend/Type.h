//===- Type.h - What the checker infers for an expression ---------------------------*- C++ -*-===//
// A type is a kind and an extent: what the value is spread over, which grows along operands.
// `model` is what is known when the rule is compiled, `group` what depends on hyperparameters,
// `tensor` what depends on the step or the parameter as a whole.

#ifndef UPDRAFT_LIB_FRONTEND_TYPE_H
#define UPDRAFT_LIB_FRONTEND_TYPE_H

#include "Updraft/IR/UpdraftEnums.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace updraft {

enum class Kind : uint8_t {
  Unknown, ///< the argument of a function that is checked for itself, or what an error left
  Number,
  Bool,
  String,
};

struct Type {
  Kind kind = Kind::Unknown;
  Extent extent = Extent::model;

  bool isUnknown() const { return kind == Kind::Unknown; }
  bool is(Kind other) const { return isUnknown() || kind == other; }
  bool isTensor() const { return extent == Extent::element; }
};

/// "a tensor", "a scalar", "a bool", …
inline llvm::StringRef describe(Type type) {
  switch (type.kind) {
  case Kind::Unknown:
    return "a value";
  case Kind::Number:
    return type.isTensor() ? "a tensor" : "a scalar";
  case Kind::Bool:
    return type.isTensor() ? "a bool tensor" : "a bool";
  case Kind::String:
    return "a string";
  }
  return "";
}

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_TYPE_H
