//===- Language.h - Names of the language, in Python --------------------------------*- C++ -*-===//

#ifndef UPDRAFT_PYTHON_LANGUAGE_H
#define UPDRAFT_PYTHON_LANGUAGE_H

#include <nanobind/nanobind.h>

namespace updraft::python {

void bindLanguage(nanobind::module_ &module);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_LANGUAGE_H
