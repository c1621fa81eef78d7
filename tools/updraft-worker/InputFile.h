//===- InputFile.h - The files that options name ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_INPUTFILE_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_INPUTFILE_H

#include <string>

namespace updraft::worker {

/// Returns the content of a file of at most 16 MiB. Throws std::runtime_error with the reason if it
/// can't be read.
std::string readInput(const std::string &path);

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_INPUTFILE_H
