//===- Package.h - A package, in Python ---------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_PYTHON_PACKAGE_H
#define UPDRAFT_PYTHON_PACKAGE_H

#include <nanobind/nanobind.h>

namespace updraft::python {

void bindPackage(nanobind::module_ &module);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_PACKAGE_H
