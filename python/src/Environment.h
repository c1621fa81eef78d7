//===- Environment.h - The library's environment, in Python -------------------------*- C++ -*-===//

#ifndef UPDRAFT_PYTHON_ENVIRONMENT_H
#define UPDRAFT_PYTHON_ENVIRONMENT_H

#include <string>

namespace updraft::python {

/// The JSON of upd_environment.
std::string environment();

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_ENVIRONMENT_H
