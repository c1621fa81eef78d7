//===- OptimizerFileNames.h - What a file of states is made of ----------------------*- C++ -*-===//
// The names in a safetensors file of docs/runtime.md, "Files".

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_OPTIMIZERFILENAMES_H
#define UPDRAFT_RUNTIME_OPTIMIZER_OPTIMIZERFILENAMES_H

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace updraft::runtime {

constexpr std::string_view statePrefix = "state/";
constexpr std::string_view stepName = "step";
/// Behind the name of a state that has blocks: their scales.
constexpr std::string_view scaleSuffix = ".scale";
/// And the metadata that tells its code, for the bytes of both look alike.
constexpr std::string_view storageKey = "updraft.storage.";
constexpr std::string_view ruleKey = "updraft.rule";
constexpr std::string_view seedKey = "updraft.seed";

/// A seed as the metadata has it; none if the text is no number from 0 to 2^64 - 1.
inline std::optional<uint64_t> parseSeed(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

constexpr std::string_view groupKey = "updraft.group.";

/// Up to here every count is a float.
constexpr int64_t maxFloatStep = int64_t(1) << 24;

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_OPTIMIZERFILENAMES_H
