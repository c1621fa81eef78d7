//===- SweepTraffic.h - The passes of this example ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_EXAMPLES_DIALECTPASS_SWEEPTRAFFIC_H
#define UPDRAFT_EXAMPLES_DIALECTPASS_SWEEPTRAFFIC_H

#include "mlir/Pass/Pass.h"

namespace sweep_traffic {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Passes.h.inc"
} // namespace sweep_traffic

#endif // UPDRAFT_EXAMPLES_DIALECTPASS_SWEEPTRAFFIC_H
