//===- Module.cpp - The extension module updraft._updraft -------------------------------------===//
// A thin binding of the C API; what users see is the Python package around it.
//===---------------------------------------------------------------------------------------===//

#include "Environment.h"
#include "InterpreterExit.h"
#include "Language.h"
#include "Optimizer.h"
#include "Rule.h"

#include <nanobind/stl/string.h>

NB_MODULE(_updraft, module) {
  // What somebody still holds when the interpreter ends is not ours to complain of, in the output
  // of a program that only uses the package.
  nanobind::set_leak_warnings(false);
  updraft::python::awaitThreadsAtExit();
  module.def("version", [] { return upd_version(); });
  module.def("environment", &updraft::python::environment);
  updraft::python::bindLanguage(module);
  updraft::python::bindRule(module);
  updraft::python::bindOptimizer(module);
}
