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

/// How many of these references, from the first on, have come to their values on this worker, be it
/// as errors. Waits for the next one for `seconds`, but no longer than a second: a client asks
/// again, and of one that is gone no thread is held.
int64_t awaitOwned(const std::vector<int64_t> &createdOn, const std::vector<int64_t> &localIds,
                   double seconds);

/// The tensors that this worker owns under those numbers. Python's objects are asked for the tensor
/// that they are, under Python's lock. Messages call them by `names`. Waits for those that are
/// still being made for a second: who does not know that they are there calls `awaitOwned` before.
/// Throws TimeoutError for a reference whose tensor does not come, and TypeError for one to
/// anything else.
std::vector<at::Tensor> ownedTensors(const std::vector<int64_t> &createdOn,
                                     const std::vector<int64_t> &localIds,
                                     const std::vector<std::string> &names);

/// Waits until whatever this worker has had made, here or elsewhere, for any of those RRefs is made
/// or has failed, but no longer than most of what its own calls may take.
void awaitMade(const std::vector<c10::IValue> &rrefs);

/// Copies, which no step changes, of what all of them are at one time.
std::vector<at::Tensor> copiesOf(const std::vector<at::Tensor> &tensors);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H
