//===- Builtins.cpp - Functions that map to operations ----------------------------------------===//

#include "Builtins.h"

using namespace updraft;

namespace {
constexpr Builtin table[] = {
    {"abs", 1, BuiltinKind::Abs},   {"ceil", 1, BuiltinKind::Ceil},
    {"exp", 1, BuiltinKind::Exp},   {"floor", 1, BuiltinKind::Floor},
    {"fma", 3, BuiltinKind::Fma},   {"log", 1, BuiltinKind::Log},
    {"max", 2, BuiltinKind::Max},   {"min", 2, BuiltinKind::Min},
    {"pow", 2, BuiltinKind::Pow},   {"rounded", 1, BuiltinKind::Rounded},
    {"sqrt", 1, BuiltinKind::Sqrt}, {"tanh", 1, BuiltinKind::Tanh},
};
} // namespace

llvm::ArrayRef<Builtin> updraft::builtins() { return table; }

const Builtin *updraft::findBuiltin(llvm::StringRef name) {
  for (const Builtin &builtin : table)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}
