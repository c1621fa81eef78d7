//===- Builtins.cpp - Functions that are operations -------------------------------------------===//

#include "Builtins.h"

using namespace updraft;

namespace {
constexpr Builtin table[] = {
    {"abs", 1, BuiltinKind::Abs, true},    {"ceil", 1, BuiltinKind::Ceil, true},
    {"exp", 1, BuiltinKind::Exp, false},   {"floor", 1, BuiltinKind::Floor, true},
    {"fma", 3, BuiltinKind::Fma, true},    {"log", 1, BuiltinKind::Log, false},
    {"max", 2, BuiltinKind::Max, true},    {"min", 2, BuiltinKind::Min, true},
    {"pow", 2, BuiltinKind::Pow, false},   {"sqrt", 1, BuiltinKind::Sqrt, true},
    {"tanh", 1, BuiltinKind::Tanh, false},
};
} // namespace

llvm::ArrayRef<Builtin> updraft::builtins() { return table; }

const Builtin *updraft::findBuiltin(llvm::StringRef name) {
  for (const Builtin &builtin : table)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}
