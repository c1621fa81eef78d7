//===- CompiledRule.h - The compiler's output for the runtime -----------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_COMPILEDRULE_H
#define UPDRAFT_DRIVER_COMPILEDRULE_H

#include <string>

namespace updraft {

/// Machine code and the descriptor that is needed to call it.
struct CompiledRule {
  std::string descriptor; // updraft-c/descriptor.h; the object has the same bytes
  std::string object;     // a relocatable object file, or an archive of several
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_COMPILEDRULE_H
