//===- IntraOpPool.h - torch's own threads for a step -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_INTRAOPPOOL_H
#define UPDRAFT_RUNTIME_TORCH_INTRAOPPOOL_H

#include "updraft-c/optimizer.h"

namespace updraft::torch_adapter {

/// The pool that torch's operators run on, with as many threads as `torch.set_num_threads` says
/// when a step begins. Lives for ever; any thread.
const upd_pool *intraOpPool();

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_INTRAOPPOOL_H
