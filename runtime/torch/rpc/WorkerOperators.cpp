//===- WorkerOperators.cpp - Operators for data and functions on a worker ---------------------===//
// Operators of the namespace `aten`, with the version of the interface in their names, as in
// Operators.cpp; the client's function for calls with recorded gradients; and joining and leaving.

#include "runtime/torch/rpc/Answer.h"
#include "runtime/torch/rpc/FunctionCall.h"
#include "runtime/torch/rpc/GuardedTransport.h"
#include "runtime/torch/rpc/HeldParameters.h"
#include "runtime/torch/rpc/Leaving.h"

#include <torch/csrc/distributed/autograd/utils.h>
#include <torch/csrc/distributed/rpc/script_call.h>
#include <torch/csrc/distributed/rpc/utils.h>
#include <torch/library.h>

using namespace updraft::torch_adapter;
namespace rpc = torch::distributed::rpc;
using torch::jit::pop;

namespace {
constexpr const char *callName = "aten::_updraft_1_call";

int64_t ready() { return 0; }

bool hold(const std::string &name, const at::Tensor &value) {
  return answering(__func__, [&] { return HeldParameters::process().hold(name, value); });
}

at::Tensor parameter(const std::string &name) {
  return answering(__func__, [&] { return HeldParameters::process().get(name); });
}

int64_t assign(const std::string &name, const at::Tensor &value) {
  return answering(__func__, [&] {
    HeldParameters::process().assign(name, value);
    return int64_t(0);
  });
}

bool drop(const std::string &name) {
  return answering(__func__, [&] { return HeldParameters::process().drop(name); });
}

c10::List<std::string> names() {
  return answering(__func__,
                   [&] { return c10::List<std::string>(HeldParameters::process().names()); });
}

void call(const c10::OperatorHandle &, c10::Stack *stack) {
  const std::vector<at::Tensor> tensors = pop(*stack).toTensorVector();
  const std::string arguments = pop(*stack).toStringRef();
  const std::string function = pop(*stack).toStringRef();
  stack->push_back(answering(__func__, [&] { return callFunction(function, arguments, tensors); }));
}

/// torch's own calls of operators record nothing unless an argument requires a gradient. Then the
/// gradients of the worker's parameters would be lost.
void callRecorded(const c10::OperatorHandle &, c10::Stack *stack) {
  const auto timeout = static_cast<float>(pop(*stack).toDouble());
  std::vector<c10::IValue> arguments = torch::jit::pop(*stack, 3);
  const std::string worker = pop(*stack).toStringRef();

  auto agent = rpc::RpcAgent::getCurrentRpcAgent();
  auto operators = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(callName));
  rpc::ScriptCall call(operators.at(0), std::move(arguments));
  auto answer = torch::distributed::autograd::sendMessageWithAutograd(
      *agent, agent->getWorkerInfo(worker), std::move(call).toMessage(),
      /*forceGradRecording=*/true, timeout);
  stack->push_back(answer->then(
      [](rpc::JitFuture &future) {
        return rpc::deserializeRespToIValue(*future.value().toCustomClass<rpc::Message>());
      },
      c10::AnyType::get()));
}
} // namespace

TORCH_LIBRARY_FRAGMENT(aten, library) {
  library.def("_updraft_1_ready() -> int", ready);
  library.def("_updraft_1_hold(str name, Tensor value) -> bool", hold);
  library.def("_updraft_1_parameter(str name) -> Tensor", parameter);
  library.def("_updraft_1_assign(str name, Tensor value) -> int", assign);
  library.def("_updraft_1_drop(str name) -> bool", drop);
  library.def("_updraft_1_names() -> str[]", names);
  library.def("_updraft_1_call(str function, str arguments, Tensor[] tensors) -> Any",
              torch::CppFunction::makeFromBoxedFunction<&call>());
}

TORCH_LIBRARY_FRAGMENT(updraft, library) {
  library.def("guard_transports() -> ()", guardTransports);
  library.def("leave_with_others(float? seconds) -> ()", leaveWithOthers);
  library.def("await_first_to_leave() -> ()", awaitFirstToLeave);
  library.def("call_recorded(str worker, str function, str arguments, Tensor[] tensors, "
              "float timeout) -> Future(Any)",
              torch::CppFunction::makeFromBoxedFunction<&callRecorded>());
}
