//===- Imports.h - The functions that compiled code may call ------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_IMPORTS_H
#define UPDRAFT_RUNTIME_BASE_IMPORTS_H

#include <span>

namespace updraft::runtime {

struct Import {
  const char *name;
  void *address; ///< null if this architecture lacks it
};

/// The functions of updraft-c/imports.def, in that order.
std::span<const Import> imports();

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_IMPORTS_H
