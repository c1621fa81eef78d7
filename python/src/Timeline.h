//===- Timeline.h - The timeline of the process, in Python ------------------------------------===//

#ifndef UPDRAFT_PYTHON_TIMELINE_H
#define UPDRAFT_PYTHON_TIMELINE_H

#include <nanobind/nanobind.h>

namespace updraft::python {

void bindTimeline(nanobind::module_ &module);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_TIMELINE_H
