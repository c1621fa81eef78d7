// The declaration of the pass. mlir-tblgen makes Passes.h.inc of it.

#ifndef SWEEP_TRAFFIC_PASSES_TD
#define SWEEP_TRAFFIC_PASSES_TD

include "mlir/Pass/PassBase.td"

def SweepTrafficPass : Pass<"sweep-traffic", "::mlir::ModuleOp"> {
  let summary = "Report the memory traffic of each sweep";
  let description = [{
    Emits a remark at each `updraft.sweep` of a plan: the bytes that it reads and writes for an
    element, and its operations for each byte. A step on data larger than the caches can't be faster
    than this traffic at the bandwidth of the memory. Changes nothing.

    Streams that have one value per row, column or batch count nothing, because many elements share
    a value. With `min-operations`, sweeps with fewer operations for each byte are left out.
  }];
  let options = [
    Option<"minOperations", "min-operations", "double", "0",
           "Report only sweeps with at least this many operations for each byte">
  ];
}

#endif // SWEEP_TRAFFIC_PASSES_TD
