//===- Leaving.h - How the members of a world leave it together ---------------------*- C++ -*-===//
// For worlds of the backend `UPDRAFT`, whose members may lack Python. torch's own
// TensorPipeAgent::join waits at the store for every member, without limit, and so for one that has
// died. Here a member says at the store that it leaves, and asks those that have not said so
// whether they live.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_LEAVING_H
#define UPDRAFT_RUNTIME_TORCH_RPC_LEAVING_H

#include <optional>

namespace updraft::torch_adapter {

/// Says that this member leaves, and returns when every other one does. TensorPipeAgent::join,
/// which is to be called next, then only waits for calls that those have yet to end.
///
/// `seconds` limits the wait, and that of `join`. Throws std::runtime_error, with a text that names
/// the members, if some have ended or do not leave in time, and if the store is lost.
void leaveWithOthers(std::optional<double> seconds);

/// Returns when some member of the world leaves. Throws std::runtime_error if the store is lost.
void awaitFirstToLeave();

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_LEAVING_H
