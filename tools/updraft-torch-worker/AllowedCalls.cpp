//===- AllowedCalls.cpp - Calls that a worker without Python answers --------------------------===//

#include "AllowedCalls.h"

#include <torch/csrc/distributed/rpc/python_remote_call.h>
#include <torch/csrc/distributed/rpc/rref_proto.h>

#include <fmt/format.h>

using namespace updraft::torch_worker;
namespace rpc = torch::distributed::rpc;

/// The prefix of the adapter's operators, in every version of the interface.
static constexpr std::string_view ours = "aten::_updraft_";
/// The suffix of the one operator whose result stays here, for a remote reference.
static constexpr std::string_view remoteSuffix = "_parameter";

static constexpr const char *noPython =
    "NotImplementedError: this worker has no Python and cannot call Python functions; call a "
    "function registered in C++ by its name: `updraft.distributed.remote_sync_call(\"linear\", "
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
  case rpc::PYTHON_CALL: // refused below, also within a context
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
        fmt::format(
            "NotImplementedError: this worker does not support messages of type {:#x}, such as "
            "a profiler's",
            static_cast<int>(request.type())),
        request.id()));
  }
}

AllowedCalls::Future AllowedCalls::processScriptCall(Command &command,
                                                     const Streams &streams) const {
  const auto &call = static_cast<const rpc::ScriptCall &>(command);
  const std::string name = describe(call);
  if (!call.hasOp() || !isOurs(name))
    return refused(fmt::format("NotImplementedError: this worker cannot run `{}`; it only runs "
                               "Updraft's operators, and functions by their names: "
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
  // The reference exists on the client already, and users of it wait for the value. Stores the
  // error as the value.
  return assignOwnerRRef(
      call.retRRefId(), call.retForkId(),
      refused(
          fmt::format("NotImplementedError: this worker cannot keep the result of `{}`; it only "
                      "keeps parameters: `updraft.distributed.parameter`",
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
  // The value of such a reference is always the error.
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
  return refused("NotImplementedError: this worker cannot start a backward; call "
                 "`torch.distributed.autograd.backward` on a client");
}
