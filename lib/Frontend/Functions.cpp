//===- Functions.cpp - The functions and transforms that every rule knows ---------------------===//

#include "updraft/Frontend/Functions.h"

#include "Builtins.h"
#include "RuleFunctions.h"
#include "StandardLibrary.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace updraft;

const std::vector<KnownFunction> &updraft::knownFunctions() {
  static const std::vector<KnownFunction> all = [] {
    std::vector<KnownFunction> functions;
    for (const Builtin &builtin : builtins())
      functions.push_back({builtin.name, builtin.arity});
    for (const RuleFunction &function : ruleFunctions())
      functions.push_back({function.name, function.arity});
    for (const auto &entry : standardFunctions())
      functions.push_back(
          {entry.getKey(), static_cast<unsigned>(entry.getValue()->parameters.size())});
    llvm::sort(functions, [](const KnownFunction &a, const KnownFunction &b) {
      return std::tie(a.name, a.arity) < std::tie(b.name, b.arity);
    });
    return functions;
  }();
  return all;
}

const std::vector<llvm::StringRef> &updraft::knownTransforms() {
  static const std::vector<llvm::StringRef> all = [] {
    std::vector<llvm::StringRef> names;
    for (const auto &entry : standardTransforms())
      names.push_back(entry.getKey());
    llvm::sort(names);
    return names;
  }();
  return all;
}
