//===- Child.h - Other programs, with a limit of their time -------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_CHILD_H
#define UPDRAFT_TOOLS_GPUSUITE_CHILD_H

#include <string>
#include <vector>

namespace updraft::suite {

/// The first program of that name in PATH, or of `folders`; empty if there is none. One with a
/// slash is itself.
std::string findProgram(const std::string &name, const std::vector<std::string> &folders = {});

/// Runs a program to its end. Empty if that is exit code 0, else how it ended: "ended with exit
/// code 1", "ended by signal 11 (Segmentation fault)", "took longer than 900 s". What it prints
/// goes to the file `output` unless that is empty. Ctrl-C ends the suite and it.
std::string runChild(const std::vector<std::string> &command, int seconds,
                     const std::string &output = "");

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_CHILD_H
