//===- IntraOpPool.cpp - torch's own threads for a step ---------------------------------------===//

#include "runtime/torch/IntraOpPool.h"

#include "updraft/torch/IntraOpPool.h"

const upd_pool *updraft::torch_adapter::intraOpPool() { return torch::intraOpPool(); }
