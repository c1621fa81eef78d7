//===- RuleSource.h - The rules that clients send -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_RULESOURCE_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_RULESOURCE_H

#include "runtime/server/Server.h"

namespace updraft::worker {

/// Compiles a rule's text of at most 64 KiB, without imports. Refuses packages: they contain
/// machine code. Throws server::Refusal. Thread-safe.
server::RulePointer compileSource(const server::RuleRequest &request);

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_RULESOURCE_H
