//===- Builtins.cpp - Functions that are operations ------------------------------------===//

#include "Builtins.h"

using namespace updraft;

namespace {
constexpr Builtin table[] = {
    {"abs", BuiltinKind::Abs, 1, true},    {"ceil", BuiltinKind::Ceil, 1, true},
    {"exp", BuiltinKind::Exp, 1, false},   {"floor", BuiltinKind::Floor, 1, true},
    {"fma", BuiltinKind::Fma, 3, true},    {"log", BuiltinKind::Log, 1, false},
    {"max", BuiltinKind::Max, 2, true},    {"min", BuiltinKind::Min, 2, true},
    {"pow", BuiltinKind::Pow, 2, false},   {"sqrt", BuiltinKind::Sqrt, 1, true},
    {"tanh", BuiltinKind::Tanh, 1, false},
};
} // namespace

llvm::ArrayRef<Builtin> updraft::builtins() { return table; }

const Builtin *updraft::findBuiltin(llvm::StringRef name) {
  for (const Builtin &builtin : table)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}
