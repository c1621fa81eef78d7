//===- AllowedCalls.h - What a worker without Python does for others ----------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_TORCH_WORKER_ALLOWEDCALLS_H
#define UPDRAFT_TOOLS_TORCH_WORKER_ALLOWEDCALLS_H

#include <torch/csrc/distributed/rpc/request_callback_no_python.h>

namespace updraft::torch_worker {

/// Lets through what a client's optimizer, functions, parameters and backward need, and answers
/// everything else at once with an error. That keeps mistakes away, and no attacker: messages are
/// unpickled before they get here, and TensorPipe asks nobody who they are.
class AllowedCalls : public torch::distributed::rpc::RequestCallbackNoPython {
  using Future = c10::intrusive_ptr<torch::distributed::rpc::JitFuture>;
  using Command = torch::distributed::rpc::RpcCommandBase;
  using Streams = std::vector<c10::Stream>;

public:
  Future processMessage(torch::distributed::rpc::Message &request, Streams streams) const override;

protected:
  std::unique_ptr<Command>
  deserializePythonRpcCommand(std::unique_ptr<Command> rpc,
                              const torch::distributed::rpc::MessageType &) const override {
    return rpc; // so that it is refused where the reference that waits for it is known
  }
  Future processScriptCall(Command &rpc, const Streams &streams) const override;
  Future processScriptRemoteCall(Command &rpc, const Streams &streams) const override;
  Future processPythonCall(Command &rpc, const Streams &streams) const override;
  Future processPythonRemoteCall(Command &rpc, const Streams &streams) const override;
  Future processPythonRRefFetchCall(Command &rpc) const override;
  Future processRRefBackward(Command &rpc) const override;

private:
  Future refused(const std::string &text) const;
};

} // namespace updraft::torch_worker

#endif // UPDRAFT_TOOLS_TORCH_WORKER_ALLOWEDCALLS_H
