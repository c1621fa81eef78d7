//===- RemoteParameters.h - Parameters that a client names by its references --------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H
#define UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

namespace updraft::torch_adapter {

/// What names a remote reference on its owner. An operator that is called remotely takes no
/// reference itself.
struct RRefNumber {
  int64_t createdOn, localId;
};

/// Of a RRef, whoever owns it.
RRefNumber numberOf(const c10::IValue &rref);

/// The tensors that this worker owns under those numbers. Waits for those that are still being
/// made. Python's objects are asked for the tensor that they are, under Python's lock. Throws
/// TypeError for a reference to anything else, by its place in the list.
std::vector<at::Tensor> ownedTensors(const std::vector<int64_t> &createdOn,
                                     const std::vector<int64_t> &localIds);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H
