//===- RuleInterface.h - What a compiled rule says about itself ---------------------*- C++ -*-===//
// The metadata beside a rule's machine code, and its JSON form of docs/architecture.md. All that
// the runtime knows about a rule is here; the rest is code.

#ifndef UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H
#define UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace updraft::runtime {

/// Positions of the streams that every rule has; state i is stream FirstState + i.
struct StreamIndex {
  static constexpr size_t Param = 0;
  static constexpr size_t Grad = 1;
  static constexpr size_t FirstState = 2;
};

struct HyperInterface {
  std::string name;
  double defaultValue;
};

struct StateInterface {
  std::string name;
  upd_dtype dtype;
};

/// Indices of streams.
struct PassInterface {
  std::vector<uint32_t> reads;
  std::vector<uint32_t> writes;
};

struct RuleInterface {
  std::string name;
  upd_dtype compute = UPD_F32; // f32 or f64
  std::string numerics;
  std::vector<std::pair<std::string, std::string>> statics; // flag, value as written
  std::vector<HyperInterface> hypers;
  upd_dtype param = UPD_F32;
  upd_dtype grad = UPD_F32;
  std::vector<StateInterface> states;
  std::vector<std::string> messages; // of the requirements, in the order of `validate`'s results
  uint32_t rowScalars = 1;           // of the compute type, the skip flag included
  std::vector<PassInterface> passes;

  size_t streamCount() const { return StreamIndex::FirstState + states.size(); }

  /// Reads JSON that may be damaged: UPD_INVALID_ARGUMENT says what is wrong, and `result` is then
  /// as it was.
  static Status parse(std::string_view json, RuleInterface &result);
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_RULEINTERFACE_H
