//===- Machine.h - The speed of this machine's memory -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_REPORT_MACHINE_H
#define UPDRAFT_LIB_REPORT_MACHINE_H

#include "llvm/Support/JSON.h"

namespace updraft {

/// Measures how fast all cores together read and write memory in place, once per process and for a
/// tenth of a second. Returns the member `machine` of a report.
llvm::json::Object measuredMachine();

} // namespace updraft

#endif // UPDRAFT_LIB_REPORT_MACHINE_H
