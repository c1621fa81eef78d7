//===- FunctionCall.h - Functions that clients can call -----------------------------*- C++ -*-===//
// torch's operators in the namespace `updraft_functions`. Defining an operator there, even in a
// library that is loaded later, lets every client call it.

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_FUNCTIONCALL_H
#define UPDRAFT_RUNTIME_TORCH_RPC_FUNCTIONCALL_H

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace updraft::torch_adapter {

/// Calls the function with this name. `arguments` is JSON, as written by
/// python/updraft/distributed/calls.py, and refers to `tensors`. Several results are returned as a
/// tuple. Throws ValueError or TypeError for an unknown function or invalid arguments.
c10::IValue callFunction(const std::string &name, const std::string &arguments,
                         const std::vector<at::Tensor> &tensors);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_FUNCTIONCALL_H
