//===- AllowedCalls.h - Calls that a worker without Python answers ------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_TORCH_WORKER_ALLOWEDCALLS_H
#define UPDRAFT_TOOLS_TORCH_WORKER_ALLOWEDCALLS_H

#include <torch/csrc/distributed/rpc/request_callback_no_python.h>

namespace updraft::torch_worker {

/// Allows the calls that a client's optimizer, functions, parameters and backward need, and answers
/// all others immediately with an error. This prevents mistakes, not attacks: messages are
/// unpickled before they get here, and TensorPipe doesn't authenticate.
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
    return rpc; // refused later, where the waiting reference is known
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
