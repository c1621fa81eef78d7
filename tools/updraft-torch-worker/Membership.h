//===- Membership.h - A process's part in a world of torch's RPC --------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_TORCH_WORKER_MEMBERSHIP_H
#define UPDRAFT_TOOLS_TORCH_WORKER_MEMBERSHIP_H

#include "WorkerOptions.h"

#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/rpc/tensorpipe_agent.h>

#include <memory>

namespace updraft::torch_worker {

/// From joining to leaving; once in a process. What fails throws std::exception.
class Membership {
public:
  /// The names of what members may talk by.
  static std::vector<std::string> transports();

  /// Waits until all of the world have joined. From then on requests are served, by threads of the
  /// agent.
  explicit Membership(const WorkerOptions &options);

  /// Returns when all members leave. Throws if some leave after others have died, or if the process
  /// that hosts the store is lost.
  void waitForAll();

  /// Serves nothing more; what runs ends first. Any thread, while another one waits for all.
  void stop();

private:
  bool hostsStore;
  int worldSize;
  c10::intrusive_ptr<c10d::TCPStore> tcp;
  c10::intrusive_ptr<c10d::Store> store; ///< of this world, in the same memory
  std::shared_ptr<torch::distributed::rpc::TensorPipeAgent> agent;
};

} // namespace updraft::torch_worker

#endif // UPDRAFT_TOOLS_TORCH_WORKER_MEMBERSHIP_H
