//===- OptimizerFileNames.h - What a file of states is made of ----------------------*- C++ -*-===//
// The names in a safetensors file of docs/runtime.md, "Files".

#ifndef UPDRAFT_RUNTIME_CPU_OPTIMIZERFILENAMES_H
#define UPDRAFT_RUNTIME_CPU_OPTIMIZERFILENAMES_H

#include <cstdint>
#include <string_view>

namespace updraft::runtime {

constexpr std::string_view statePrefix = "state/";
constexpr std::string_view stepName = "step";
/// Behind the name of a state that has blocks: their scales.
constexpr std::string_view scaleSuffix = ".scale";
/// And the metadata that tells its code, for the bytes of both look alike.
constexpr std::string_view storageKey = "updraft.storage.";
constexpr std::string_view ruleKey = "updraft.rule";
constexpr std::string_view seedKey = "updraft.seed";
constexpr std::string_view groupKey = "updraft.group.";

/// Up to here every count is a float.
constexpr int64_t maxFloatStep = int64_t(1) << 24;
constexpr int64_t maxStep = int64_t(1) << 53;

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_OPTIMIZERFILENAMES_H
