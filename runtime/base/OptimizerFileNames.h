//===- OptimizerFileNames.h - The names in a file of states -------------------------*- C++ -*-===//
// The names in a safetensors file of docs/runtime.md, "Files".

#ifndef UPDRAFT_RUNTIME_BASE_OPTIMIZERFILENAMES_H
#define UPDRAFT_RUNTIME_BASE_OPTIMIZERFILENAMES_H

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace updraft::runtime {

constexpr std::string_view statePrefix = "state/";
constexpr std::string_view stepName = "step";
/// Follows the name of a state in blocks, in the name of its scales.
constexpr std::string_view scaleSuffix = ".scale";
/// The prefix of the metadata with the format of a state in blocks: both formats have the type U8.
constexpr std::string_view storageKey = "updraft.storage.";
constexpr std::string_view ruleKey = "updraft.rule";
constexpr std::string_view seedKey = "updraft.seed";

/// Parses a seed in the metadata. None if it isn't a number from 0 to 2^64 - 1.
inline std::optional<uint64_t> parseSeed(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

constexpr std::string_view groupKey = "updraft.group.";

/// Every count up to this one is exact in f32.
constexpr int64_t maxFloatStep = int64_t(1) << 24;

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_OPTIMIZERFILENAMES_H
