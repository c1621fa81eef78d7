//===- FunctionCall.h - Functions that clients may have computed on a worker --------*- C++ -*-===//
// They are torch's operators of the namespace `updraft_functions`. Whoever defines one there, also
// in a library that is loaded later, lets every client call it.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_FUNCTIONCALL_H
#define UPDRAFT_RUNTIME_TORCH_RPC_FUNCTIONCALL_H

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace updraft::torch_adapter {

/// Calls the function with this name. `arguments` is as python/updraft/distributed/calls.py writes
/// it, in JSON; `tensors` are those that it speaks of. Several results are one tuple. Throws
/// ValueError and TypeError for a function or arguments that there are not.
c10::IValue callFunction(const std::string &name, const std::string &arguments,
                         const std::vector<at::Tensor> &tensors);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_FUNCTIONCALL_H
