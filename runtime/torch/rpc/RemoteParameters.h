//===- RemoteParameters.h - Parameters that a client names by its references --------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H
#define UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
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
/// made, for `seconds` in all; 0 waits without limit. Python's objects are asked for the tensor
/// that they are, under Python's lock. Messages call them by
/// `names`. Throws TimeoutError for a reference whose tensor does not come, and
/// TypeError for one to anything else.
std::vector<at::Tensor> ownedTensors(const std::vector<int64_t> &createdOn,
                                     const std::vector<int64_t> &localIds, double seconds,
                                     const std::vector<std::string> &names);

/// Waits until whatever this worker has had made, here or elsewhere, for any of those RRefs is made
/// or has failed, but no longer than `usualWait`.
void awaitMade(const std::vector<c10::IValue> &rrefs);

/// Copies, which no step changes, of what all of them are at one time.
std::vector<at::Tensor> copiesOf(const std::vector<at::Tensor> &tensors);

/// How long a request that does not say so waits: most of what this worker's own calls may take.
double usualWait();

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H
