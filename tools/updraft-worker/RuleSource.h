//===- RuleSource.h - The rules that clients send -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_RULESOURCE_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_RULESOURCE_H

#include "updraft/worker/v1/worker.pb.h"

#include <string>

namespace updraft::worker {

/// Compiles a rule's text of at most 64 KiB, without imports, to a package for this machine.
/// Refuses packages: they contain machine code. Throws server::Refusal. Thread-safe.
std::string packSource(const v1::Rule &rule);

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_RULESOURCE_H
