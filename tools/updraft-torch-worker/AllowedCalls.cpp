//===- AllowedCalls.cpp - What a worker without Python does for others ------------------------===//

#include "AllowedCalls.h"

#include <torch/csrc/distributed/rpc/python_remote_call.h>
#include <torch/csrc/distributed/rpc/rref_proto.h>

#include <fmt/format.h>

using namespace updraft::torch_worker;
namespace rpc = torch::distributed::rpc;

/// What operators of the adapter are called, in every version of the interface.
static constexpr std::string_view ours = "aten::_updraft_";
/// Of those, the one whose value stays here and is referred to.
static constexpr std::string_view remoteSuffix = "_parameter";

static constexpr const char *noPython =
    "NotImplementedError: this worker has no Python and cannot call Python functions; call one "
    "that is registered in C++, by its name: `updraft.distributed.remote_sync_call(\"linear\", "
    "partitioner=worker, …)`";

static std::string describe(const rpc::ScriptCall &call) {
  return call.hasOp() ? call.op()->schema().name() : call.qualifiedName().qualifiedName();
}

static bool isOurs(const std::string &name) { return name.starts_with(ours); }

AllowedCalls::Future AllowedCalls::refused(const std::string &text) const {
  return asFuture(std::make_exception_ptr(std::runtime_error(text)));
}

AllowedCalls::Future AllowedCalls::processMessage(rpc::Message &request, Streams streams) const {
  switch (request.type()) {
  case rpc::SCRIPT_CALL:
  case rpc::SCRIPT_REMOTE_CALL:
  case rpc::SCRIPT_RREF_FETCH_CALL:
  case rpc::PYTHON_CALL: // refused below, where calls within a context arrive as well
  case rpc::PYTHON_REMOTE_CALL:
  case rpc::PYTHON_RREF_FETCH_CALL:
  case rpc::RREF_USER_DELETE:
  case rpc::RREF_FORK_REQUEST:
  case rpc::RREF_CHILD_ACCEPT:
  case rpc::RREF_BACKWARD_REQ:
  case rpc::FORWARD_AUTOGRAD_REQ:
  case rpc::BACKWARD_AUTOGRAD_REQ:
  case rpc::CLEANUP_AUTOGRAD_CONTEXT_REQ:
    return RequestCallbackNoPython::processMessage(request, std::move(streams));
  default:
    return asFuture(rpc::createExceptionResponse(
        fmt::format("NotImplementedError: this worker does not answer messages of type {:#x}, as a "
                    "profiler's are",
                    static_cast<int>(request.type())),
        request.id()));
  }
}

AllowedCalls::Future AllowedCalls::processScriptCall(Command &command,
                                                     const Streams &streams) const {
  const auto &call = static_cast<const rpc::ScriptCall &>(command);
  const std::string name = describe(call);
  if (!call.hasOp() || !isOurs(name))
    return refused(fmt::format("NotImplementedError: this worker does not run `{}`; it runs "
                               "Updraft's operators alone, and functions by their names: "
                               "`updraft.distributed.remote_sync_call`",
                               name));
  return RequestCallbackNoPython::processScriptCall(command, streams);
}

AllowedCalls::Future AllowedCalls::processScriptRemoteCall(Command &command,
                                                           const Streams &streams) const {
  const auto &call = static_cast<const rpc::ScriptRemoteCall &>(command);
  const std::string name = describe(call);
  if (call.hasOp() && isOurs(name) && name.ends_with(remoteSuffix))
    return RequestCallbackNoPython::processScriptRemoteCall(command, streams);
  // The reference exists on the client already, and whoever uses it waits for the value. An error
  // is one.
  return assignOwnerRRef(
      call.retRRefId(), call.retForkId(),
      refused(fmt::format("NotImplementedError: this worker keeps no result of `{}`; it has "
                          "parameters to refer to: `updraft.distributed.parameter`",
                          name)));
}

AllowedCalls::Future AllowedCalls::processPythonCall(Command &, const Streams &) const {
  return refused(noPython);
}

AllowedCalls::Future AllowedCalls::processPythonRemoteCall(Command &command,
                                                           const Streams &) const {
  const auto &call = static_cast<const rpc::PythonRemoteCall &>(command);
  return assignOwnerRRef(rpc::RRefId::fromIValue(call.retRRefId()),
                         rpc::ForkId::fromIValue(call.retForkId()), refused(noPython));
}

AllowedCalls::Future AllowedCalls::processPythonRRefFetchCall(Command &command) const {
  // The value of such a reference can only be the error.
  auto &call = static_cast<rpc::PythonRRefFetchCall &>(command);
  return retrieveOwnerRRef(call.rrefId())
      ->then(
          [](rpc::JitFuture &future) -> c10::IValue {
            future.value();
            throw std::runtime_error(noPython);
          },
          c10::getCustomClassType<c10::intrusive_ptr<rpc::Message>>());
}

AllowedCalls::Future AllowedCalls::processRRefBackward(Command &) const {
  return refused("NotImplementedError: this worker begins no backward; call "
                 "`torch.distributed.autograd.backward` on a client");
}
