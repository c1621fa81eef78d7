//===- Log.h - A worker's log -------------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_LOG_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_LOG_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace updraft::worker {

enum class Severity { Debug, Info, Warning, Error };

/// "debug", "info", "warning" or "error".
Severity severityNamed(std::string_view name);

/// Sets the least severity that is logged. Lines go to the standard error.
void openLog(Severity least);

/// Writes a line in the form of logfmt: `time=… level=info msg="snapshot written" bytes=123`.
/// Thread-safe.
void log(Severity severity, std::string_view message,
         const std::vector<std::pair<std::string_view, std::string>> &values = {});

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_LOG_H
