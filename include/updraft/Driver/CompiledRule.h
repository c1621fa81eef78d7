//===- CompiledRule.h - The compiler's output for the runtime -----------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_COMPILEDRULE_H
#define UPDRAFT_DRIVER_COMPILEDRULE_H

#include <string>

namespace updraft {

/// Machine code and the description that is needed to call it; see docs/architecture.md.
struct CompiledRule {
  std::string interfaceJson;
  std::string object; // a relocatable object file, or an archive of several
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_COMPILEDRULE_H
