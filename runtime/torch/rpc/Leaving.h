//===- Leaving.h - How the members of a world leave together ------------------------*- C++ -*-===//
// For worlds of the backend `UPDRAFT`, whose members may lack Python. torch's TensorPipeAgent::join
// waits at the store for every member without a limit, even for one that has died. Here each member
// announces at the store that it leaves, and checks that the members that haven't done so are
// alive.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_LEAVING_H
#define UPDRAFT_RUNTIME_TORCH_RPC_LEAVING_H

#include <optional>

namespace updraft::torch_adapter {

/// Announces that this member leaves, and returns when every other one does. Call
/// TensorPipeAgent::join next. It then only waits for calls that the others have yet to end.
///
/// `seconds` limits the wait, and that of `join`. Throws std::runtime_error if some members have
/// ended or don't leave in time, with their names in the text, and if the store is lost.
void leaveWithOthers(std::optional<double> seconds);

/// Returns when some member of the world leaves. Throws std::runtime_error if the store is lost.
void awaitFirstToLeave();

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_LEAVING_H
