//===- JsonDamage.h - Messages for invalid JSON -------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_JSONDAMAGE_H
#define UPDRAFT_RUNTIME_TORCH_RPC_JSONDAMAGE_H

#include <nlohmann/json.hpp>

#include <string>

namespace updraft::torch_adapter {

/// The library's message without its prefix, "[json.exception.type_error.302] ".
inline std::string damageOf(const nlohmann::json::exception &error) {
  const std::string text = error.what();
  const size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_JSONDAMAGE_H
