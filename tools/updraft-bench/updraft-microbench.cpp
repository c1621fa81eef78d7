//===- updraft-microbench.cpp - Where compile time and step overhead go -----------------------===//
// Google Benchmark programs for one's own changes: the compiler up to each stage, and the cost of a
// step on tensors too small to matter. What is reported to users is updraft-bench's.

#include "Stepper.h"
#include "updraft-c/compiler.h"

#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace updraft::bench;

namespace {
std::string rulePath(const std::string &rule) { return UPDRAFT_RULES_DIR "/" + rule + ".upd"; }

/// Each stage contains the ones before it.
void compileUpTo(benchmark::State &state, const std::string &rule, const std::string &stage) {
  std::ifstream file(rulePath(rule));
  std::string source{std::istreambuf_iterator<char>(file), {}};
  for (auto _ : state) {
    char *text = nullptr;
    if (upd_emit(source.data(), source.size(), nullptr, nullptr, stage.c_str(), &text) != UPD_OK) {
      state.SkipWithError(upd_last_error());
      break;
    }
    upd_string_release(text);
  }
}

void stepSmallTensors(benchmark::State &state) {
  Stepper stepper({rulePath("adamw"), {}, {}, state.range(0), state.range(1)});
  for (auto _ : state)
    stepper.step();
  state.counters["ns/tensor"] = benchmark::Counter(
      state.range(0), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
} // namespace

BENCHMARK(stepSmallTensors)
    ->ArgsProduct({{1, 100, 10000}, {1, 16, 64, 1000}})
    ->Args({1, 640000})
    ->Args({1, 1000000})
    ->Args({1000, 1000})
    ->UseRealTime();

int main(int argc, char **argv) {
  for (const char *rule : {"adamw", "sgd"})
    for (const char *stage : {"ast", "updraft", "schedule", "loops", "llvm", "asm"})
      benchmark::RegisterBenchmark(
          (std::string("compile/") + rule + "/" + stage).c_str(),
          [=](benchmark::State &state) { compileUpTo(state, rule, stage); });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
