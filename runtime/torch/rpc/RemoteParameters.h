//===- RemoteParameters.h - Parameters that a client names by references ------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H
#define UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

namespace updraft::torch_adapter {

/// The key of a remote reference on its owner. Remotely called operators can't take references
/// themselves.
struct RRefNumber {
  int64_t createdOn, localId;
};

/// For an RRef of any owner.
RRefNumber numberOf(const c10::IValue &rref);

/// The number of these references, from the first on, whose values (or errors) exist on this
/// worker. Waits for the next one for `seconds`, but at most one second. The client asks again, so
/// a client that is gone doesn't block a thread.
int64_t awaitOwned(const std::vector<int64_t> &createdOn, const std::vector<int64_t> &localIds,
                   double seconds);

/// The tensors that this worker owns under those numbers. For Python objects, gets the tensor with
/// the GIL held. `names` are their names in messages. Waits up to a second for values that are
/// still being created, so call `awaitOwned` first unless they are known to exist. Throws
/// TimeoutError if a value doesn't arrive, and TypeError if a value isn't a tensor.
std::vector<at::Tensor> ownedTensors(const std::vector<int64_t> &createdOn,
                                     const std::vector<int64_t> &localIds,
                                     const std::vector<std::string> &names);

/// Waits until all values that this worker has requested for any of those RRefs are created or have
/// failed. Gives up before the timeout of this worker's own calls ends.
void awaitMade(const std::vector<c10::IValue> &rrefs);

/// Consistent copies of all tensors: no step runs while they are taken.
std::vector<at::Tensor> copiesOf(const std::vector<at::Tensor> &tensors);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_REMOTEPARAMETERS_H
