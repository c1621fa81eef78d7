//===- Membership.h - Joining and leaving a world of torch's RPC --------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_TORCH_WORKER_MEMBERSHIP_H
#define UPDRAFT_TOOLS_TORCH_WORKER_MEMBERSHIP_H

#include "WorkerOptions.h"

#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/rpc/tensorpipe_agent.h>

#include <memory>

namespace updraft::torch_worker {

/// Membership from joining to leaving; only once per process. Throws std::exception on failure.
class Membership {
public:
  /// The names of the available transports.
  static std::vector<std::string> transports();

  /// Waits until all members have joined. From then on, threads of the agent answer requests.
  explicit Membership(const WorkerOptions &options);

  /// Returns when all members leave. Throws if some leave after others have died, or if the process
  /// that hosts the store is lost.
  void waitForAll();

  /// Stops answering requests, and waits for those that are running. Any thread may call this while
  /// another is in waitForAll().
  void stop();

private:
  bool hostsStore;
  int worldSize;
  c10::intrusive_ptr<c10d::TCPStore> tcp;
  c10::intrusive_ptr<c10d::Store> store; ///< the part of `tcp` for this world
  std::shared_ptr<torch::distributed::rpc::TensorPipeAgent> agent;
};

} // namespace updraft::torch_worker

#endif // UPDRAFT_TOOLS_TORCH_WORKER_MEMBERSHIP_H
