//===- updraft-microbench.cpp - Breakdown of compile time and step overhead -------------------===//
// Google Benchmark programs for development: the compiler up to each stage, the overhead of a step
// on tiny tensors, and the host time of a step on a GPU. updraft-bench has the published numbers.

#include "IdleDevice.h"
#include "Stepper.h"
#include "runtime/capi/Handles.h"
#include "runtime/gpu/DeviceOptimizer.h"
#include "tools/options/StandardStreams.h"
#include "updraft-c/compiler.h"

#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

using namespace updraft::bench;

namespace {
std::string rulePath(const std::string &rule) { return UPDRAFT_RULES_DIR "/" + rule + ".upd"; }

/// Each stage includes the previous ones.
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
  Stepper stepper({{rulePath("adamw")}, state.range(0), state.range(1)});
  for (auto _ : state)
    stepper.step();
  state.counters["ns/tensor"] = benchmark::Counter(
      state.range(0), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Excludes the driver's share. If `moves` is true, every gradient has another address in each
/// step.
void stepOnIdleDevice(benchmark::State &state, const std::string &name, bool moves) {
  const updraft::harness::Rule rule = updraft::harness::compile({rulePath(name)}, "nvptx:sm_90");
  const auto count = static_cast<size_t>(state.range(0));
  const int64_t shape[] = {1000};
  std::vector<upd_tensor> params(count), grads[2];
  for (size_t i = 0; i < count; ++i) {
    params[i].shape = shape;
    params[i].rank = 1;
    params[i].device = UPD_CUDA;
    // Farther apart than their size, and never accessed.
    params[i].data = reinterpret_cast<void *>((uintptr_t(1) << 40) + i * 8192);
  }
  for (size_t which = 0; which < 2; ++which) {
    grads[which] = params;
    for (upd_tensor &grad : grads[which])
      grad.data = static_cast<char *>(grad.data) + (which + 1) * (uintptr_t(1) << 36);
  }
  upd_group group{};
  group.params = params.data();
  group.param_count = count;
  auto device = std::make_shared<IdleDevice>();
  std::unique_ptr<updraft::runtime::Optimizer> optimizer;
  auto require = [](const updraft::runtime::Status &status) {
    if (!status.ok())
      throw std::runtime_error(status.message());
  };
  require(updraft::gpu::DeviceOptimizer::create(device, {UPD_CUDA, 0}, rule->kernels, &group, 1,
                                                nullptr, optimizer));
  size_t step = 0;
  for (; step < 2; ++step)
    require(optimizer->step(grads[step % 2].data(), count));
  device->launches = 0;
  size_t steps = 0;
  for (auto _ : state) {
    require(optimizer->step(grads[moves ? step++ % 2 : 0].data(), count));
    ++steps;
  }
  state.counters["launches"] =
      static_cast<double>(device->launches) / static_cast<double>(std::max<size_t>(steps, 1));
}
} // namespace

BENCHMARK_CAPTURE(stepOnIdleDevice, adamw, "adamw", false)->Arg(1)->Arg(161)->Arg(21000);
BENCHMARK_CAPTURE(stepOnIdleDevice, adamw_moves, "adamw", true)->Arg(1)->Arg(161)->Arg(21000);
BENCHMARK_CAPTURE(stepOnIdleDevice, lamb, "lamb", false)->Arg(161);

BENCHMARK(stepSmallTensors)
    ->ArgsProduct({{1, 100, 10000}, {1, 16, 64, 1000}})
    ->Args({1, 640000})
    ->Args({1, 1000000})
    ->Args({1000, 1000})
    ->UseRealTime();

int main(int argc, char **argv) {
  updraft::watchStandardOutput();
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
