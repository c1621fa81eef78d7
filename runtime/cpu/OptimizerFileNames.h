//===- OptimizerFileNames.h - What a file of states is made of ----------------------*- C++ -*-===//
// The names in a safetensors file of docs/runtime.md, "Files".

#ifndef UPDRAFT_RUNTIME_CPU_OPTIMIZERFILENAMES_H
#define UPDRAFT_RUNTIME_CPU_OPTIMIZERFILENAMES_H

#include <cstdint>
#include <string_view>

namespace updraft::runtime {

constexpr std::string_view statePrefix = "state/";
constexpr std::string_view stepName = "step";
constexpr std::string_view ruleKey = "updraft.rule";
constexpr std::string_view seedKey = "updraft.seed";
constexpr std::string_view groupKey = "updraft.group.";

/// Up to here every count is a float.
constexpr int64_t maxFloatStep = int64_t(1) << 24;
constexpr int64_t maxStep = int64_t(1) << 53;

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_OPTIMIZERFILENAMES_H
