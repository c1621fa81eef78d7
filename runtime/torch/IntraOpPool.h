//===- IntraOpPool.h - torch's own threads for a step -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_INTRAOPPOOL_H
#define UPDRAFT_RUNTIME_TORCH_INTRAOPPOOL_H

#include "updraft-c/optimizer.h"

namespace updraft::torch_adapter {

/// Returns the pool that torch's operators run on. A step uses the value of `torch.set_num_threads`
/// from when it begins. Never destroyed. Thread-safe.
const upd_pool *intraOpPool();

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_INTRAOPPOOL_H
