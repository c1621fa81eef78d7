//===- Module.cpp - The extension module updraft._updraft -------------------------------------===//
// A thin binding of the C API. Users use the Python package around it.
//===---------------------------------------------------------------------------------------===//

#include "Environment.h"
#include "InterpreterExit.h"
#include "Language.h"
#include "Optimizer.h"
#include "Package.h"
#include "Rule.h"
#include "Timeline.h"

#include <nanobind/stl/string.h>

NB_MODULE(_updraft, module) {
  // The program may keep objects until the interpreter exits. Don't print warnings about that.
  nanobind::set_leak_warnings(false);
  updraft::python::awaitThreadsAtExit();
  // Allocates the thread-local data of this thread now. Later, and without memory for it, the
  // loader would end the process.
  upd_last_error();
  module.def("version", [] { return upd_version(); });
  module.def("environment", &updraft::python::environment);
  updraft::python::bindLanguage(module);
  updraft::python::bindPackage(module);
  updraft::python::bindRule(module);
  updraft::python::bindOptimizer(module);
  updraft::python::bindTimeline(module);
}
