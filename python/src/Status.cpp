//===- Status.cpp - From status codes to Python exceptions ------------------------------------===//

#include "Status.h"

#include "InterpreterExit.h"

#include <cstring>
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void updraft::python::raise(upd_status status, const char *message) {
  // A message may quote any bytes of the source.
  nb::object text = nb::steal(PyUnicode_DecodeUTF8(message, std::strlen(message), "replace"));
  nb::object error = waitingAtExit([&] {
    return nb::module_::import_("updraft.errors")
        .attr("from_status")(static_cast<int>(status), text);
  });
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

void updraft::python::check(upd_status status) {
  if (status != UPD_OK)
    raise(status, upd_last_error());
}
