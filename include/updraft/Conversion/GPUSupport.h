//===- GPUSupport.h - Which plans have kernels for GPUs -----------------------------*- C++ -*-===//

#ifndef UPDRAFT_CONVERSION_GPUSUPPORT_H
#define UPDRAFT_CONVERSION_GPUSUPPORT_H

#include "Updraft/IR/UpdraftOps.h"

namespace updraft {

/// What of a pass is not lowered to GPUs, as the end of a sentence; null if all of it is.
const char *whyNotOnGPU(PassOp pass);

} // namespace updraft

#endif // UPDRAFT_CONVERSION_GPUSUPPORT_H
