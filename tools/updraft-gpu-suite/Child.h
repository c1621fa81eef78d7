//===- Child.h - Child processes with a time limit ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_CHILD_H
#define UPDRAFT_TOOLS_GPUSUITE_CHILD_H

#include <string>
#include <vector>

namespace updraft::suite {

/// Finds the first program with that name in PATH, or else in `folders`; empty if not found. A name
/// with a slash is returned unchanged.
std::string findProgram(const std::string &name, const std::vector<std::string> &folders = {});

/// Runs a program until it exits. Returns "" if the exit code is 0, else the reason: "ended with
/// exit code 1", "ended by signal 11 (Segmentation fault)", "took longer than 900 s". The output of
/// the program goes to the file `output` unless that is empty. Ctrl-C ends both the suite and the
/// program.
std::string runChild(const std::vector<std::string> &command, int seconds,
                     const std::string &output = "");

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_CHILD_H
