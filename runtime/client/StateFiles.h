//===- StateFiles.h - States of an optimizer on several workers ---------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CLIENT_STATEFILES_H
#define UPDRAFT_RUNTIME_CLIENT_STATEFILES_H

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace updraft::dist {

/// Joins the files of several workers to one. Throws std::runtime_error for a damaged file.
std::string joinStates(const std::vector<std::string> &files);

/// Splits such a file by the workers of its parameters. Throws std::invalid_argument for another
/// file.
std::map<size_t, std::string>
splitStates(const std::string &file,
            const std::function<size_t(const std::string &parameter)> &workerOf);

/// A file without states.
std::string noStates();

} // namespace updraft::dist

#endif // UPDRAFT_RUNTIME_CLIENT_STATEFILES_H
