//===- RuleSource.h - The rules that clients send -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_RULESOURCE_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_RULESOURCE_H

#include "updraft/worker/v1/worker.pb.h"

#include <string>

namespace updraft::worker {

/// Refuses a text of more than 64 KiB, imports, and packages. Throws server::Refusal. Thread-safe.
void checkSource(const v1::Rule &rule);

/// Compiles a rule's text to a package for this machine. Throws server::Refusal. Thread-safe.
std::string packSource(const v1::Rule &rule);

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_RULESOURCE_H
