//===- Timeline.cpp - The timeline of the process, in Python ----------------------------------===//

#include "Timeline.h"

#include "Status.h"
#include "updraft-c/timeline.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

void updraft::python::bindTimeline(nanobind::module_ &module) {
  module.def("timeline_start", [] { check(upd_timeline_start()); });
  module.def(
      "timeline_stop",
      [](const std::optional<std::string> &path) {
        upd_status status;
        {
          // Other threads continue while the file is written.
          nanobind::gil_scoped_release released;
          status = upd_timeline_stop(path ? path->c_str() : nullptr);
        }
        check(status);
      },
      nanobind::arg("path").none());
  module.def("timeline_now", &upd_timeline_now);
  module.def("timeline_add", &upd_timeline_add);
}
