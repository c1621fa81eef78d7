//===- Variable.h - The timeline that the environment asks for ----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TIMELINE_VARIABLE_H
#define UPDRAFT_RUNTIME_TIMELINE_VARIABLE_H

#include <string>
#include <string_view>

namespace updraft::timeline {

/// If UPDRAFT_TIMELINE names a file, records from now on and writes the file when the process
/// exits. A process without spans leaves no file. Returns whether it records.
bool startByVariable();

/// The name of this process's file: `%p` becomes the process's number. In a name without it, the
/// number goes before the extension: `steps.json` becomes `steps-4711.json`.
std::string fileOfProcess(std::string_view pattern, long process);

} // namespace updraft::timeline

#endif // UPDRAFT_RUNTIME_TIMELINE_VARIABLE_H
