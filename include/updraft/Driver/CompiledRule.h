//===- CompiledRule.h - What the compiler hands to the runtime ----------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_COMPILEDRULE_H
#define UPDRAFT_DRIVER_COMPILEDRULE_H

#include <string>

namespace updraft {

/// Machine code and what it needs to be called; see docs/architecture.md.
struct CompiledRule {
  std::string interfaceJson;
  std::string object; // a relocatable object file, or an archive of several
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_COMPILEDRULE_H
